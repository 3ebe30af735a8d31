# A Java virtual machine that touches its whole heap before its first class, and ends.
import subprocess

heap, collector = arguments
words = ["java", f"-Xms{heap}", f"-Xmx{heap}", "-XX:+AlwaysPreTouch", collector, "-XX:+PrintFlagsFinal", "-version"]


def step():
    return subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout


def created(flags):
    """The bytes of the heap that it began with, by its own account."""
    lines = (line.split() for line in flags.splitlines())
    value = next(int(words[3]) for words in lines if len(words) > 3 and words[1] == "InitialHeapSize")
    return {"exact": f"{value:x}"}


report(step, created)
