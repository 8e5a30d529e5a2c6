#!/usr/bin/env python3
"""The table in test/verdicts.md: rule x cause x model x the accelerator's verdict before and after `modeldoctor fix`.

    verdict_table.py PROGRAM CASES_FOLDER > test/verdicts.md

CASES_FOLDER holds cases.json (a list of {"name", "source", "model"}) and the models. A model gets a row when the program changes it
or the accelerator does not take it as it is. Needs the judge's environment (scripts/setup.sh --judges).
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


def verdict(original, model):
    """ok | refused | wrong, in the accelerator's words cut short."""
    complaint = judge_gpu.ask_in_child(str(original), str(model), True)
    if not complaint:
        return "ok"
    return "refused" if "refuses" in complaint else "wrong" if complaint[:3] in ("GPU", "CPU") else "crash"


def row(program, case, model, scratch):
    fixed = os.path.join(scratch, model.name)
    run = subprocess.run([program, "fix", str(model), "-o", fixed, "--target", judge_gpu.NEWEST, "--output-format", "json"],
                         capture_output=True, text=True, errors="replace")
    if run.returncode > 1:
        return [case, "-", "-", f"exit {run.returncode}"]
    findings = json.loads(run.stdout)["findings"]
    rules = ", ".join(sorted({f["rule"] + ("" if not f["open"] else " (open)") for f in findings}))
    before = verdict(model, model)
    if not findings and before == "ok":
        return None
    return [case, rules or "-", before, verdict(model, fixed)]


def main(program, folder):
    judge_environment.enter("litert", "ai_edge_litert")
    cases = json.loads((pathlib.Path(folder) / "cases.json").read_text())
    print("# Verdicts of the LiteRT GPU accelerator before and after `modeldoctor fix`\n")
    print(f"Made by test/verdict_table.py with {judge_gpu.NEWEST} on SwiftShader (fp32). \"open\": reported, not rewritten.\n")
    print("| cause | model | rules | before | after |\n|---|---|---|---|---|")
    tally = {}
    with tempfile.TemporaryDirectory() as scratch:
        for case in cases:
            if not case.get("model"):
                continue
            cells = row(program, case.get("source", ""), pathlib.Path(folder) / case["model"], scratch)
            if cells is None:
                continue
            cause, rules, before, after = cells
            tally[before, after] = tally.get((before, after), 0) + 1
            print(f"| {cause.replace('|', '/')} | {case['name']} | {rules} | {before} | {after} |", flush=True)
    print("\n" + "; ".join(f"{before} before, {after} after: {count}" for (before, after), count in sorted(tally.items())))


if __name__ == "__main__":
    main(*sys.argv[1:])
