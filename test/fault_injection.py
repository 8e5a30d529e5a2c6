#!/usr/bin/env python3
"""Runs `modeldoctor fix` and ends it at random points: signals, kills, full disks, closed outputs, read-only folders, a model that
shrinks while it is read. After every run: the input has its bytes, model and diagnosis are the old pair, the new pair, or (after a
kill) one of each; never a torn file; no temporary file after a signal, none of a killed run after the next one.

usage: fault_injection.py PROGRAM FIXTURES [SECONDS [SEED]]     SECONDS bounds the run (default 20), SEED repeats one."""
import os, random, resource, shutil, signal, subprocess, sys, tempfile, time

program, fixtures = os.path.abspath(sys.argv[1]), sys.argv[2]
seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 20
seed = int(sys.argv[4]) if len(sys.argv) > 4 else random.randrange(1 << 30)
choose = random.Random(seed)
deadline = time.monotonic() + seconds
counts = {}
failures = []


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Desk:
    """A folder with a model; what `fix` makes of it is known."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="modeldoctor-faults-")
        self.model = os.path.join(self.folder, "m.tflite")
        self.outputs = [os.path.join(self.folder, name) for name in ("m.fixed.tflite", "m.diagnosis.json")]
        shutil.copy(os.path.join(fixtures, "cli/repeat_kv.tflite"), self.model)
        # A large tail makes writing take long enough to be interrupted; its bytes are a hole on disk.
        with open(self.model, "r+b") as file:
            file.truncate(os.path.getsize(self.model) + (16 << 20))
        self.input = read(self.model)
        started = time.monotonic()
        run = self.run()
        self.duration = time.monotonic() - started
        if run.returncode != 0:
            sys.exit(f"the model cannot be fixed: {run.stderr}")
        self.wanted = [read(path) for path in self.outputs]

    def command(self):
        return [program, "fix", "m.tflite", "--samples", "2"]

    def start(self, **more):
        return subprocess.Popen(self.command(), cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)

    def run(self, **more):
        return subprocess.run(self.command(), cwd=self.folder, capture_output=True, text=True, **more)

    def reset(self, before):
        """`before`: are there outputs of an earlier run?"""
        for name in os.listdir(self.folder):
            if name != "m.tflite":
                os.unlink(os.path.join(self.folder, name))
        if before:
            for path, content in zip(self.outputs, self.wanted):
                with open(path, "wb") as file:
                    file.write(content)

    def check(self, what, partial=False):
        def expect(holds, text):
            if not holds:
                failures.append(f"{what}: {text}")

        expect(read(self.model) == self.input, "the input changed")
        for path, content in zip(self.outputs, self.wanted):
            expect(not os.path.exists(path) or read(path) == content, f"{os.path.basename(path)} is torn")
        known = {"m.tflite", "m.fixed.tflite", "m.diagnosis.json"}
        rest = [name for name in os.listdir(self.folder) if name not in known and not (partial and name.endswith(".part"))]
        expect(not rest, f"left behind: {rest}")


def count(what):
    counts[what] = counts.get(what, 0) + 1


def interrupted(desk, before):
    number = choose.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
    desk.reset(before)
    child = desk.start()
    time.sleep(choose.uniform(0, desk.duration))
    child.send_signal(number)
    child.communicate()
    what = f"{number.name}{' over old outputs' if before else ''}"
    count(f"{number.name} {'caught the run' if child.returncode == -number else 'came late'}")
    if child.returncode not in (-number, 0):
        failures.append(f"{what}: ended with {child.returncode}")
    desk.check(what, partial=number == signal.SIGKILL)
    if child.returncode == -number and number != signal.SIGKILL and not before:
        there = [os.path.exists(path) for path in desk.outputs]
        if there[0] != there[1]:
            failures.append(f"{what}: one of two outputs: {there}")
    if number == signal.SIGKILL:
        desk.run()  # whatever it says about what is there
        desk.check(what + " and a second run")


def full_disk(desk, before):
    desk.reset(before)
    most = choose.choice([0, 1, choose.randrange(4096), choose.randrange(len(desk.input))])
    run = desk.run(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)))
    count("full disk")
    if run.returncode != 2 or "nothing was written" not in run.stderr:
        failures.append(f"full disk at {most}: exit {run.returncode}: {run.stderr}")
    desk.check(f"full disk at {most}")
    if not before and any(os.path.exists(path) for path in desk.outputs):
        failures.append(f"full disk at {most}: an output is there")


def closed_output(desk, before):
    desk.reset(before)
    stream = choose.choice(["/dev/full", None, "pipe"])
    if stream == "pipe":
        reader, writer = os.pipe()
        os.close(reader)
        run = subprocess.run(desk.command(), cwd=desk.folder, stdout=writer, stderr=subprocess.PIPE, text=True)
        os.close(writer)
    elif stream:
        with open(stream, "w") as full:
            run = subprocess.run(desk.command(), cwd=desk.folder, stdout=full, stderr=subprocess.PIPE, text=True)
    else:
        run = subprocess.run(desk.command(), cwd=desk.folder, stderr=subprocess.PIPE, text=True, preexec_fn=lambda: os.close(1))
    count("standard output " + (stream or "closed"))
    if run.returncode != 4 or "standard output" not in run.stderr:
        failures.append(f"output {stream}: exit {run.returncode}: {run.stderr}")
    desk.check(f"output {stream}")
    if not all(os.path.exists(path) for path in desk.outputs):
        failures.append(f"output {stream}: the model was not written")


def read_only(desk, before):
    desk.reset(before)

    def as_nobody():  # root writes everywhere
        if os.geteuid() == 0:
            os.setgid(65534)
            os.setuid(65534)

    os.chmod(desk.folder, 0o555)
    try:
        run = desk.run(preexec_fn=as_nobody)
    except (PermissionError, subprocess.SubprocessError):
        return  # the program lies where nobody may start it
    finally:
        os.chmod(desk.folder, 0o700)
    count("read-only folder")
    if run.returncode != 2 or "not writable" not in run.stderr:
        failures.append(f"read-only folder: exit {run.returncode}: {run.stderr}")
    desk.check("read-only folder")


def shrinking(desk, before):
    desk.reset(before)
    child = desk.start()
    time.sleep(choose.uniform(0, desk.duration))
    os.truncate(desk.model, choose.choice([0, 100, 4096, len(desk.input) // 2]))
    _, errors = child.communicate()
    with open(desk.model, "wb") as file:
        file.write(desk.input)
    count("shrinking model")
    if child.returncode not in (0, 1, 2, 3):
        failures.append(f"shrinking model: ended with {child.returncode}: {errors}")
    if child.returncode == 2 and "m.tflite" not in errors:
        failures.append(f"shrinking model: the line does not name it: {errors}")
    rest = [name for name in os.listdir(desk.folder) if name.endswith(".part")]
    if rest:
        failures.append(f"shrinking model: left behind {rest}")


desk = Desk()
try:
    while time.monotonic() < deadline and not failures:
        before = choose.random() < 0.5
        for fault in (interrupted, interrupted, interrupted, full_disk, closed_output, read_only, shrinking):
            fault(desk, before)
finally:
    shutil.rmtree(desk.folder, ignore_errors=True)
print(f"seed {seed}: " + ", ".join(f"{many} {what}" for what, many in sorted(counts.items())))
for failure in failures:
    print("FAILED:", failure)
sys.exit(1 if failures else 0)
