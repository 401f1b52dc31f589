/* As a Perl and a Ruby of versions to come and a PHP with threads look from outside. */
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

const char ruby_version[] = "9.8.7";
void ruby_init(void)
{
}

int main(void)
{
    return 0;
}
