/* The calls of R to libfirsttouch. Sizes cross in bytes as numbers of double precision, which are exact up to 8 PiB. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <firsttouch.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <R.h>
#include <R_ext/Rallocators.h>
#include <R_ext/Rdynload.h>
#include <Rinternals.h>

static void stop_unless_done(firsttouch_result result)
{
    if (result != FIRSTTOUCH_RESULT_OK)
        Rf_error("%s (%s)", firsttouch_message(result), firsttouch_hint(result));
}

static uint64_t bytes_of(SEXP number)
{
    double bytes = Rf_asReal(number);
    if (ISNAN(bytes) || bytes < 0)
        Rf_error("a size must be a number of kilobytes, not negative");
    return bytes >= 0x1p64 ? UINT64_MAX : (uint64_t)bytes;
}

static const char *word_or_null(SEXP word)
{
    return Rf_isNull(word) ? NULL : Rf_translateChar(Rf_asChar(word));
}

/* Libraries whose allocations are placed. */
static SEXP choose(SEXP prefix)
{
    stop_unless_done(firsttouch_ism_choose(word_or_null(prefix)));
    return R_NilValue;
}

static SEXP on(SEXP pages, SEXP min_bytes, SEXP max_bytes)
{
    uint64_t least = bytes_of(min_bytes), most = bytes_of(max_bytes);
    if (!least || least > most)
        Rf_error("minKB must be more than 0, and not more than maxKB");
    stop_unless_done(firsttouch_ism_on(word_or_null(pages), least, most));
    return R_NilValue;
}

static SEXP off(void)
{
    firsttouch_ism_off();
    return R_NilValue;
}

static SEXP status(void)
{
    static const char *names[] = {"support", "enabled", "via",    "page_bytes", "min_bytes",
                                        "max_bytes", "reason", "remedy", ""};
    firsttouch_session now;
    stop_unless_done(firsttouch_ism_status(&now, sizeof now));
    SEXP answer = PROTECT(Rf_mkNamed(VECSXP, names));
    SET_VECTOR_ELT(answer, 0, Rf_ScalarLogical(now.support != 0));
    SET_VECTOR_ELT(answer, 1, Rf_ScalarLogical(now.enabled != 0));
    SET_VECTOR_ELT(answer, 2, Rf_ScalarInteger((int)now.via));
    SET_VECTOR_ELT(answer, 3, Rf_ScalarReal((double)now.page_bytes));
    SET_VECTOR_ELT(answer, 4, Rf_ScalarReal((double)now.min_bytes));
    SET_VECTOR_ELT(answer, 5, Rf_ScalarReal((double)now.max_bytes));
    SET_VECTOR_ELT(answer, 6, now.reason ? Rf_mkString(now.reason) : R_NilValue);
    SET_VECTOR_ELT(answer, 7, now.remedy ? Rf_mkString(now.remedy) : R_NilValue);
    UNPROTECT(1);
    return answer;
}

/* Columns of the live blocks. Blocks may come and go while there is no lock: what fits is told. */
static SEXP list(void)
{
    static const char *names[] = {"id", "address", "size", "huge", ""};
    size_t room = firsttouch_ism_list(NULL, 0) + 16;
    firsttouch_block *blocks = (firsttouch_block *)R_alloc(room, sizeof *blocks);
    size_t total = firsttouch_ism_list(blocks, room);
    R_xlen_t count = (R_xlen_t)(total < room ? total : room);
    SEXP answer = PROTECT(Rf_mkNamed(VECSXP, names));
    SEXP id = Rf_allocVector(REALSXP, count);
    SET_VECTOR_ELT(answer, 0, id);
    SEXP address = Rf_allocVector(STRSXP, count);
    SET_VECTOR_ELT(answer, 1, address);
    SEXP size = Rf_allocVector(REALSXP, count);
    SET_VECTOR_ELT(answer, 2, size);
    SEXP huge = Rf_allocVector(REALSXP, count);
    SET_VECTOR_ELT(answer, 3, huge);
    for (R_xlen_t row = 0; row < count; row++) {
        char text[32];
        snprintf(text, sizeof text, "%#" PRIx64, blocks[row].address);
        SET_STRING_ELT(address, row, Rf_mkChar(text));
        REAL(id)[row] = (double)blocks[row].id;
        REAL(size)[row] = (double)blocks[row].bytes;
        uint64_t seen = blocks[row].huge_bytes;
        REAL(huge)[row] = seen == FIRSTTOUCH_UNKNOWN_BYTES ? NA_REAL : (double)seen;
    }
    UNPROTECT(1);
    return answer;
}

static size_t element_bytes(SEXP vector)
{
    switch (TYPEOF(vector)) {
    case LGLSXP:
    case INTSXP:
        return sizeof(int);
    case REALSXP:
        return sizeof(double);
    case CPLXSXP:
        return sizeof(Rcomplex);
    case RAWSXP:
        return 1;
    default:
        Rf_error("only vectors of numbers have memory of their own to look at; of a list, look at each: lapply(x, ft_obtained)");
    }
}

/* A vector with memory of its own: R calls for it when it makes the vector, and when it collects it. Those that live are in a
   list. */
struct own {
    const char *name, *pages;
    firsttouch_region *region;
    struct own *next;
};
static struct own *owns;

static firsttouch_result map_named(struct own *own, size_t bytes)
{
    return firsttouch_region_map_named(own->name, bytes, own->pages, getenv("FIRSTTOUCH_OBJECTS"), &own->region);
}

static void *own_take(R_allocator_t *allocator, size_t bytes)
{
    struct own *asked = allocator->data, *own = malloc(sizeof *own);
    if (!own)
        return NULL;
    *own = *asked;
    if (map_named(own, bytes) != FIRSTTOUCH_RESULT_OK) {
        free(own);
        return NULL;
    }
    own->next = owns;
    owns = own;
    /* R keeps a copy of the allocator with the vector, made after this. */
    allocator->data = own;
    return firsttouch_region_address(own->region);
}

static void own_give(R_allocator_t *allocator, void *memory)
{
    struct own *own = allocator->data;
    (void)memory;
    for (struct own **at = &owns; *at; at = &(*at)->next)
        if (*at == own) {
            *at = own->next;
            break;
        }
    /* The allocator itself lies in there. */
    firsttouch_region_free(own->region);
    free(own);
}

/* The package is about to be unloaded: what vectors are freed by stays in memory where some live on. The library itself sees to that
   for those that it placed. */
static SEXP end(void)
{
    Dl_info own;
    if (owns && dladdr(&owns, &own))
        dlopen(own.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    firsttouch_ism_end();
    return R_NilValue;
}

/* A vector of zeroes whose memory has a name, for which whoever started R may have chosen a place. */
static SEXP named(SEXP length, SEXP pages, SEXP name)
{
    double elements = Rf_asReal(length);
    if (ISNAN(elements) || elements < 0 || elements > (double)R_XLEN_T_MAX)
        Rf_error("a length must be a number, not negative");
    struct own asked = {word_or_null(name), word_or_null(pages), NULL, NULL};
    /* R would only say that there is no memory. */
    firsttouch_result result = map_named(&asked, 1);
    if (result == FIRSTTOUCH_RESULT_BAD_ARGUMENT)
        Rf_error("a name has letters, digits, '-', '_' and '.'");
    stop_unless_done(result);
    firsttouch_region_free(asked.region);
    R_allocator_t allocator = {own_take, own_give, NULL, &asked};
    SEXP vector = Rf_allocVector3(REALSXP, (R_xlen_t)elements, &allocator);
    /* A single number R makes without the allocator, and without clearing it. */
    if (XLENGTH(vector) == 1)
        REAL(vector)[0] = 0;
    return vector;
}

/* Whether an address lies in a placed block, or in memory of a vector's own. */
static int is_placed(uintptr_t address)
{
    for (const struct own *own = owns; own; own = own->next)
        if (address - (uintptr_t)firsttouch_region_address(own->region) < firsttouch_region_bytes(own->region))
            return 1;
    size_t room = firsttouch_ism_list(NULL, 0) + 16;
    firsttouch_block *blocks = (firsttouch_block *)R_alloc(room, sizeof *blocks);
    size_t total = firsttouch_ism_list(blocks, room);
    for (size_t row = 0; row < total && row < room; row++)
        if (address - blocks[row].address < blocks[row].bytes)
            return 1;
    return 0;
}

static SEXP obtained(SEXP vector)
{
    static const char *names[] = {"bytes", "placed", "huge", "small", "untouched", "nodes", ""};
    size_t bytes = element_bytes(vector) * (size_t)XLENGTH(vector);
    const void *address = bytes ? DATAPTR_OR_NULL(vector) : NULL;
    SEXP answer = PROTECT(Rf_mkNamed(VECSXP, names));
    SET_VECTOR_ELT(answer, 0, Rf_ScalarReal((double)bytes));
    if (!address) {
        /* Empty, or a sequence that R keeps as a formula. */
        SET_VECTOR_ELT(answer, 1, Rf_ScalarLogical(FALSE));
        UNPROTECT(1);
        return answer;
    }
    firsttouch_receipt receipt;
    stop_unless_done(firsttouch_obtained(address, bytes, &receipt));
    SET_VECTOR_ELT(answer, 1, Rf_ScalarLogical(is_placed((uintptr_t)address)));
    if (receipt.known) {
        SET_VECTOR_ELT(answer, 2, Rf_ScalarReal((double)receipt.huge_bytes));
        SET_VECTOR_ELT(answer, 3, Rf_ScalarReal((double)receipt.small_bytes));
        SET_VECTOR_ELT(answer, 4, Rf_ScalarReal((double)receipt.untouched_bytes));
    }
    SEXP nodes = Rf_allocVector(REALSXP, receipt.nodes);
    SET_VECTOR_ELT(answer, 5, nodes);
    SEXP numbers = PROTECT(Rf_allocVector(STRSXP, receipt.nodes));
    for (uint32_t index = 0; index < receipt.nodes; index++) {
        char text[16];
        snprintf(text, sizeof text, "%" PRIu32, receipt.node[index]);
        SET_STRING_ELT(numbers, index, Rf_mkChar(text));
        REAL(nodes)[index] = (double)receipt.node_bytes[index];
    }
    Rf_setAttrib(nodes, R_NamesSymbol, numbers);
    UNPROTECT(2);
    return answer;
}

#define CALL(name, arguments) {"C_" #name, (DL_FUNC)&name, arguments}
static const R_CallMethodDef calls[] = {CALL(choose, 1), CALL(on, 3),   CALL(off, 0),      CALL(end, 0),
                                        CALL(status, 0), CALL(list, 0), CALL(obtained, 1), CALL(named, 3),
                                        {NULL, NULL, 0}};

void R_init_firsttouch(DllInfo *library)
{
    R_registerRoutines(library, NULL, calls, NULL, NULL);
    R_useDynamicSymbols(library, FALSE);
    R_forceSymbols(library, TRUE);
}
