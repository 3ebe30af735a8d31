# Prints a large C file: functions that are all a little different, so that the compiler has work with each.
#
#   awk -v functions=300 -f large_c.awk > large.c
BEGIN {
    if (!functions) functions = 300
    print "#include <stdlib.h>"
    print "#include <string.h>"
    for (n = 0; n < functions; n++) {
        a = n * 7 % 31 + 1
        b = n * 13 % 17 + 2
        printf "unsigned f%d(const unsigned *x, unsigned n) {\n", n
        printf "    unsigned s = %du, t[%d] = {0};\n", a, b
        printf "    for (unsigned i = 0; i < n; i++) {\n"
        printf "        t[i %% %du] += x[i] * %du;\n", b, a
        printf "        if (x[i] & %du) s ^= t[(i + %du) %% %du]; else s = s * 33u + %du;\n", a, a, b, n
        printf "        switch (s %% 5u) { case 0: s += %du; break; case 3: s >>= 1; break; default: s--; }\n", a
        printf "    }\n"
        printf "    char *p = malloc(s %% 64u + 1u);\n"
        printf "    memset(p, (int)s, s %% 64u + 1u);\n"
        printf "    s += (unsigned)p[0];\n"
        printf "    free(p);\n"
        printf "    return s;\n}\n"
    }
    print "int main(void) {\n    unsigned x[97], s = 0;"
    print "    for (unsigned i = 0; i < 97; i++) x[i] = i * 2654435761u;"
    for (n = 0; n < functions; n++) printf "    s += f%d(x, 97);\n", n
    print "    return (int)(s % 100u);\n}"
}
