/* As a Perl of a version to come and a PHP with threads look from outside. */
unsigned char PL_revision = 5, PL_version = 98;
void perl_construct(void *interpreter)
{
    (void)interpreter;
}

void (*zend_execute_ex)(void *frame);
void execute_ex(void *frame)
{
    (void)frame;
}

int main(void)
{
    return 0;
}
