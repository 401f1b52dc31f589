/* As a Perl and a Ruby of versions to come, a PHP with threads and LuaJIT look from outside. */
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

void lua_newstate(void)
{
}

void lua_resume(void)
{
}

int main(void)
{
    return 0;
}
