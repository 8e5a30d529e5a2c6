#!/usr/bin/env python3
"""The table in test/verdicts.md: cause x model x rules x the accelerator's verdict before and after `modeldoctor fix`.

    verdict_table.py PROGRAM           compares the table with a fresh run and says which rows differ
    verdict_table.py PROGRAM NAME...   the same for some of the models
    verdict_table.py PROGRAM --write   writes the table anew; read its diff

The models are test/verdicts/*.tflite, with their causes in test/verdicts/cases.json. A model gets a row when the program changes it or
the accelerator does not take it as it is. A row that goes from refused to wrong is a fault in either mode, unless an open finding says
that the result is wrong. Needs the judge's environment (scripts/setup.sh --judges).

Exit codes: 0 the table is as a fresh run gives it, 1 it is not, 77 not run (the reason is printed).
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import judge_environment  # noqa: E402
import judge_gpu  # noqa: E402
import judge_models  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
TABLE = HERE / "verdicts.md"


def verdict(original, model):
    """ok | refused | wrong | crash, and the judge's words."""
    complaint = judge_gpu.ask_in_child(str(original), str(model), True)
    if not complaint:
        return "ok", ""
    return ("refused" if "refuses" in complaint else "wrong" if complaint[:3] in ("GPU", "CPU") else "crash"), complaint


def row(program, case, model, scratch):
    """The cells of a row or None, and what is wrong with it however it is recorded."""
    fixed = os.path.join(scratch, model.name)
    run = subprocess.run([program, "fix", str(model), "-o", fixed, "--target", judge_gpu.NEWEST, "--output-format", "json"],
                         capture_output=True, text=True, errors="replace")
    if run.returncode > 1:
        return [case["cause"], case["name"], "-", "-", f"exit {run.returncode}"], [run.stderr[-300:]]
    findings = json.loads(run.stdout)["findings"]
    rules = ", ".join(sorted({f["rule"] + ("" if not f["open"] else " (open)") for f in findings}))
    before, why_before = verdict(model, model)
    after, why_after = (before, why_before) if not os.path.exists(fixed) else verdict(model, fixed)
    os.path.exists(fixed) and os.remove(fixed)
    if not findings and before == "ok":
        return None, []
    said = any(f["open"] and f["severity"] == "silent" for f in findings)
    faults = [f"refused became wrong, and no finding says so: {why_after}"] if (before, after) == ("refused", "wrong") and not said else []
    return [case["cause"], case["name"], rules or "-", before, after], faults


def heading():
    kinds = ", ".join(f"{kind} {tolerance:g}" for kind, tolerance in judge_models.TOLERANCE.items())
    return f"""# Verdicts of the LiteRT GPU accelerator before and after `modeldoctor fix`

Made by test/verdict_table.py with {judge_gpu.NEWEST} on SwiftShader (fp32); a test compares it with a fresh run.

"open": reported, not rewritten. "wrong": somewhere the difference to the CPU interpreter's result of the original is more than a part
of the largest output, which depends on the kind of the model: {kinds}.
A dyn8 model (8-bit weights, fp32 operands) is compared with the same weights in fp32, because the CPU kernels round the operands of such
operators to 8 bits and the accelerator does not.

| cause | model | rules | before | after |
|---|---|---|---|---|
"""


def report(program, rows, recorded, faults, counts):
    """Prints what differs and gives the exit code."""
    differences = [f"-{line}" for line in recorded if line not in rows] + [f"+{line}" for line in rows if line not in recorded]
    print(*faults, *differences, counts, sep="\n")
    if differences:
        print("test/verdicts.md is not what this run gives (-: recorded, +: now). Mend the program, or if the change is meant:\n"
              f"    test/verdict_table.py {program} --write")
    return 1 if differences or faults else 0


def main(program, *names):
    judge_environment.enter("litert", "ai_edge_litert")
    if not judge_environment.vulkan_driver():
        judge_environment.skip("no software Vulkan driver: scripts/setup.sh --judges installs chromium's SwiftShader")
    write, names = "--write" in names, [name for name in names if name != "--write"]
    cases = json.loads((HERE / "verdicts" / "cases.json").read_text())
    cases = [case for case in cases if not names or case["name"] in names]
    rows, faults, tally = [], [], {}
    with tempfile.TemporaryDirectory() as scratch:
        for case in cases:
            cells, wrong = row(program, case, HERE / "verdicts" / (case["name"] + ".tflite"), scratch)
            faults += [f"{case['name']}: {fault}" for fault in wrong]
            if cells:
                tally[cells[3], cells[4]] = tally.get((cells[3], cells[4]), 0) + 1
                rows.append("| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |")
    summary = "; ".join(f"{before} before, {after} after: {count}" for (before, after), count in sorted(tally.items()))
    counts = f"{len(rows)} rows of {len(cases)} models, {len(faults)} faults: {summary}"
    recorded = TABLE.read_text().splitlines()
    if names:
        return report(program, rows, [line for line in recorded if any(f"| {name} |" in line for name in names)], faults, counts)
    text = heading() + "\n".join(rows) + "\n\n" + summary + "\n"
    if write:
        TABLE.write_text(text)
        recorded = text.splitlines()
    return report(program, text.splitlines(), recorded, faults, counts)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
