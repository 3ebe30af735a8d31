/* The calls of MPI that are used, without its macros: MPI_COMM_WORLD and its like are numbers in one MPI and addresses in another.
   Every function answers MPI's error code. Counts are what an int holds; whoever calls sends longer bytes in pieces. */

#include <mpi.h>

int ftmpi_start(int *rank, int *size, int *threads_may_call) {
    int level = 0;
    int code = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level);
    if (code != MPI_SUCCESS)
        return code;
    *threads_may_call = level >= MPI_THREAD_SERIALIZED;
    /* Errors are answered, not fatal, so that they can be told with a hint. */
    if ((code = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)) != MPI_SUCCESS)
        return code;
    if ((code = MPI_Comm_rank(MPI_COMM_WORLD, rank)) != MPI_SUCCESS)
        return code;
    return MPI_Comm_size(MPI_COMM_WORLD, size);
}

int ftmpi_end(void) { return MPI_Finalize(); }

int ftmpi_abort(int code) { return MPI_Abort(MPI_COMM_WORLD, code); }

int ftmpi_broadcast(void *bytes, int count) { return MPI_Bcast(bytes, count, MPI_BYTE, 0, MPI_COMM_WORLD); }

int ftmpi_sum(double *values, int count) {
    return MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

int ftmpi_send(const void *bytes, int count, int to, int tag) {
    return MPI_Send(bytes, count, MPI_BYTE, to, tag, MPI_COMM_WORLD);
}

int ftmpi_receive(void *bytes, int count, int from, int tag) {
    return MPI_Recv(bytes, count, MPI_BYTE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Whether a message with such a tag has come, and from whom. */
int ftmpi_look(int tag, int *there, int *from) {
    MPI_Status status;
    int code = MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, there, &status);
    if (code == MPI_SUCCESS && *there)
        *from = status.MPI_SOURCE;
    return code;
}

/* `words` has room for `room` bytes; answers how many of them were written. */
int ftmpi_words(int code, char *words, int room) {
    char all[MPI_MAX_ERROR_STRING];
    int length = 0;
    if (MPI_Error_string(code, all, &length) != MPI_SUCCESS)
        return 0;
    if (length > room)
        length = room;
    for (int at = 0; at < length; at++)
        words[at] = all[at];
    return length;
}
