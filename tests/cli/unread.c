/* As a Perl of a version to come looks from outside. */
unsigned char PL_revision = 5, PL_version = 98;
void perl_construct(void *interpreter)
{
    (void)interpreter;
}

int main(void)
{
    return 0;
}
