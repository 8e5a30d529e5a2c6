"""Holds lib/format/tflite/tflite.fbs, table by table and enum by enum, against the schema in the ai-edge-litert wheel."""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import judge_environment

judge_environment.enter("litert", "ai_edge_litert")
import importlib.util

# Kinds of the wheel's builder calls, by the type that our text gives a field.
SCALARS = {"bool": "Bool", "byte": "Int8", "ubyte": "Uint8", "short": "Int16", "ushort": "Uint16", "int": "Int32",
           "uint": "Uint32", "long": "Int64", "ulong": "Uint64", "float": "Float32", "double": "Float64"}


def read_ours(text):
    """(enums: name -> (underlying type, [(member, number)]), unions: name -> [members], tables: name -> [(field, type, default)])"""
    text = re.sub(r"//[^\n]*", "", text)
    enums, unions, tables = {}, {}, {}
    for name, kind, body in re.findall(r"enum (\w+)\s*:\s*(\w+)\s*\{([^}]*)\}", text):
        members, number = [], 0
        for item in filter(None, (x.strip() for x in body.split(","))):
            member, _, explicit = (x.strip() for x in item.partition("="))
            number = int(explicit) if explicit else number
            members.append((member, number))
            number += 1
        enums[name] = (kind, members)
    for name, body in re.findall(r"union (\w+)\s*\{([^}]*)\}", text):
        unions[name] = [x.strip() for x in body.split(",") if x.strip()]
    for name, body in re.findall(r"table (\w+)\s*\{([^}]*)\}", text):
        fields = []
        for item in filter(None, (x.strip() for x in body.split(";"))):
            m = re.fullmatch(r"(\w+)\s*:\s*(\[?\w+\]?)(?:\s*=\s*([-\w.]+))?(\s*\(deprecated\))?", item)
            assert m, f"{name}: cannot read '{item}'"
            fields.append((m[1], m[2], m[3], bool(m[4])))
        tables[name] = fields
    return enums, unions, tables


def read_wheel(text):
    """The same facts out of the generated Python: enums, and per table its slots {number: (camel name, kind, default, accessor)}."""
    parts = re.split(r"^class (\w+)\(object\):\n", text, flags=re.M)
    enums, tables = {}, {}
    for name, body in zip(parts[1::2], parts[2::2]):
        if "__slots__" not in body:
            members = re.findall(r"^    (\w+) = (-?\d+)$", body, flags=re.M)
            if members:
                enums[name] = [(m, int(n)) for m, n in members]
            continue
        count = int(re.search(rf"^def {name}Start\(builder\):\n    builder\.StartObject\((\d+)\)", text, flags=re.M)[1])
        slots = {}
        for camel, kind, slot, default in re.findall(
                rf"^def {name}Add(\w+)\(builder, \w+\):\n    builder\.Prepend(\w+?)Slot\((\d+), .*, ([^,()]+)\)$", body, flags=re.M):
            accessor = re.search(rf"    def {camel}\(self.*?\n(.*?)(?=\n    # |\ndef )", body, flags=re.S)
            slots[int(slot)] = (camel, kind, default, accessor[1] if accessor else "")
        tables[name] = (count, slots)
    return enums, tables


def slots_of(fields, unions):
    """Our fields with their slot numbers: a union takes two, its type first."""
    out, slot = {}, 0
    for field, kind, default, deprecated in fields:
        if kind in unions:
            out[slot] = (field + "_type", "ubyte", None, deprecated)
            slot += 1
        out[slot] = (field, kind, default, deprecated)
        slot += 1
    return out


def plain(name):
    return name.replace("_", "").lower()


def check_field(ours, theirs, enums, unions):
    """What differs between one field of ours and the wheel's, or None."""
    field, kind, default, _ = ours
    camel, their_kind, their_default, accessor = theirs
    if plain(field) != plain(camel):
        return f"is named {field}, the wheel says {camel}"
    vector = kind.startswith("[")
    inner = kind.strip("[]")
    underlying = enums[inner][0] if inner in enums else inner
    if vector or inner == "string" or inner not in SCALARS and inner not in enums:
        if their_kind != "UOffsetTRelative":
            return f"is {kind}, the wheel stores a {their_kind}"
        if vector and underlying in SCALARS and f"{SCALARS[underlying]}Flags" not in accessor:
            return f"is {kind}, the wheel has other elements"
        if vector and underlying not in SCALARS and inner != "string" and f"obj = {inner}()" not in accessor:
            return f"is {kind}, the wheel has other elements"
        if not vector and inner not in unions and inner != "string" and f"obj = {inner}()" not in accessor:
            return f"is {kind}, the wheel has another table"
        if inner == "string" and "String" not in accessor:
            return f"is {kind}, the wheel has no text"
        return None
    if their_kind != SCALARS[underlying]:
        return f"is {kind} ({SCALARS[underlying]}), the wheel stores a {their_kind}"
    if default is None:
        number = 0.0
    elif inner in enums:
        number = float(dict(enums[inner][1])[default])
    else:
        number = {"true": 1.0, "false": 0.0}.get(default) if default in ("true", "false") else float(default)
    return None if float(their_default) == number else f"has default {number}, the wheel says {their_default}"


def main():
    ours_path = os.path.join(judge_environment.SOURCE, "lib/format/tflite/tflite.fbs")
    spec = importlib.util.find_spec("ai_edge_litert")
    wheel_path = os.path.join(spec.submodule_search_locations[0], "schema_py_generated.py")
    enums, unions, tables = read_ours(open(ours_path).read())
    their_enums, their_tables = read_wheel(open(wheel_path).read())
    faults, fields = [], 0
    ours_as_enums = {name: members for name, (_, members) in enums.items()}
    ours_as_enums.update({name: [("NONE", 0)] + [(m, i + 1) for i, m in enumerate(members)] for name, members in unions.items()})
    for name in sorted(set(ours_as_enums) | set(their_enums)):
        if ours_as_enums.get(name) != their_enums.get(name):
            faults.append(f"enum {name}: {set(ours_as_enums.get(name, [])) ^ set(their_enums.get(name, []))}")
    for name in sorted(set(tables) | set(their_tables)):
        if name not in tables or name not in their_tables:
            faults.append(f"table {name}: only in {'ours' if name in tables else 'the wheel'}")
            continue
        count, theirs = their_tables[name]
        slots = slots_of(tables[name], unions)
        if len(slots) != count:
            faults.append(f"table {name}: {len(slots)} slots, the wheel has {count}")
        for slot, field in slots.items():
            fields += 1
            if field[3] != (slot not in theirs):
                faults.append(f"{name}.{field[0]}: retired in only one of the two")
            elif slot in theirs:
                why = check_field(field, theirs[slot], enums, unions)
                if why:
                    faults.append(f"{name}.{field[0]} {why}")
    print(f"{len(tables)} tables, {fields} fields, {len(ours_as_enums)} enumerations and unions compared with {os.path.basename(wheel_path)}")
    for fault in faults:
        print("differs:", fault)
    assert len(tables) > 100 and fields > 200, "too little was read to prove anything"
    sys.exit(1 if faults else 0)


main()
