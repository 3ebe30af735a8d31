/* A check that ends the program, for the tests' programs. */
#include <stdio.h>
#include <stdlib.h>

#define MIB ((size_t)1 << 20)
#define CHECK(what)                                                                                                    \
    do {                                                                                                               \
        if (!(what)) {                                                                                                 \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what);                                         \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)
