/* See early_threads.c. */
void early_wait(void);

int main(void)
{
    early_wait();
    return 0;
}
