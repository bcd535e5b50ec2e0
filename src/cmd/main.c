/* sonde: one binary, one command per verb. */
int main(void)
{
    return 2;
}
