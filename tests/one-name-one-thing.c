/* SPDX-License-Identifier: MIT */
/* Linked with every object of the libraries (tests/meson.build): that it links is the test. */
int main(void)
{
    return 0;
}
