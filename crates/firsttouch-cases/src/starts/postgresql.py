# A PostgreSQL server that starts, reads a table into its buffers, and stops.
#
# It creates none of its shared buffers when it starts: who touches one first pays. So the first read belongs to what a start costs.
import atexit
import glob
import shutil
import subprocess
import tempfile

buffers, reads, huge_pages = int(arguments[0]) >> 20, int(arguments[1]), arguments[2]
# The server's data serve all runs of a session, in whose folder they lie; nothing of it is timed. A run by itself has a folder of its own.
session = os.path.dirname(os.environ["FIRSTTOUCH_CASE_RESULT"])
if session == "/dev":
    session = tempfile.mkdtemp(prefix="firsttouch-postgresql-")
    atexit.register(shutil.rmtree, session)
folder = os.path.join(session, f"postgresql-{buffers}")
data = os.path.join(folder, "data")
ready = os.path.join(folder, "ready")
places = os.pathsep.join([os.environ.get("PATH", ""), *sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True)])


def program(name):
    found = shutil.which(name, path=places)
    if not found:
        sys.exit(f"{name} of PostgreSQL is not installed")
    return found


# The server refuses to be root; it becomes the user that its package makes.
user = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}


def run(name, *words):
    done = subprocess.run([program(name), *words], cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, **user)
    if done.returncode:
        log = os.path.join(folder, "log")
        print(*(open(log).readlines()[-3:] if os.path.exists(log) else []), sep="", end="", file=sys.stderr)
        sys.exit(f"{name} ended with {done.returncode}")
    return done.stdout.strip()


def ask(statement):
    return run("psql", "-h", folder, "-U", "postgres", "-d", "postgres", "-qXtA", "-v", "ON_ERROR_STOP=1", "-c", statement)


def start():
    # What it says goes to its log: a pipe of ours would stay open as long as it runs.
    settings = f"-c shared_buffers={buffers}MB -c huge_pages={huge_pages}"
    run("pg_ctl", "-D", data, "-s", "-w", "-t", "600", "-l", os.path.join(folder, "log"), "-o", settings, "start")


def stop():
    run("pg_ctl", "-D", data, "-m", "fast", "-s", "-w", "-t", "600", "stop")


def make():
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    if user:
        os.chmod(session, 0o711)
        shutil.chown(folder, "postgres", "postgres")
    run("initdb", "-D", data, "-A", "trust", "-N", "-U", "postgres", "--locale=C", "-E", "UTF8")
    with open(os.path.join(data, "postgresql.conf"), "a") as file:
        file.write(f"listen_addresses = ''\nunix_socket_directories = '{folder}'\nfsync = off\nautovacuum = off\nmax_wal_size = 64GB\n")
    start()
    # Eight rows of 1,000 bytes fill a page of 8 KiB: seven tenths of the buffers.
    rows = buffers * 128 * 7 // 10 * 8
    ask(f"create table filled with (fillfactor = 100) as select i, repeat('x', 960) t from generate_series(1, {rows}) i")
    ask("create extension pg_prewarm")
    # Readers would write hints to pages that were never looked at.
    ask("vacuum (freeze) filled")
    stop()
    open(ready, "w").close()


if not os.path.exists(ready):
    make()


def step():
    start()
    try:
        return [int(ask("select pg_prewarm('filled')")) for _ in range(reads)][0]
    finally:
        stop()


report(step, lambda pages: {"exact": f"{pages:x}"})
