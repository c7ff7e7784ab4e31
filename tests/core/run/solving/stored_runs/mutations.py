"""Damage to the files of a run, by a random number generator: bits, bytes, and what JSON says."""

import copy
import json
import os

VALUES = [
    *(None, True, False, 0, -1, 1, 7, 2**53, -(10**30), 10**400, 1e-300, 1e308, 0.5, -0.0),
    *("", "x", "nan", "inf", "\ud800", "completed", [], {}, [0], ["x"], {"a": 1}, [[[]]]),
]


def places(value, path=()):
    """Every place in a JSON value."""
    found = [path] if path else []
    entries = value.items() if isinstance(value, dict) else ()
    entries = enumerate(value[:50]) if isinstance(value, list) else entries
    for name, entry in entries:
        found += places(entry, (*path, name))
    return found


def change_json(random, content):
    """Replace, remove, rename or repeat something in a JSON file."""
    value = json.loads(content)
    # High up as often as deep down.
    known = places(value)
    depth = random.choice(sorted({len(path) for path in known}))
    *above, last = random.choice([path for path in known if len(path) == depth])
    holder = value
    for name in above:
        holder = holder[name]
    how = random.choice(["replace"] * 5 + ["remove", "rename", "deep", "add"])
    if how == "replace":
        holder[last] = copy.deepcopy(random.choice(VALUES))
    elif how == "remove":
        del holder[last]
    elif how == "deep":
        for _ in range(random.choice([50, 500, 5000])):
            value = {"a": value}
            if random.random() < 0.5:
                break
    elif how == "rename" and isinstance(holder, dict):
        holder[f"{last}_"] = holder.pop(last)
    else:
        value["stranger"] = copy.deepcopy(random.choice(VALUES))
    text = json.dumps(value) if how != "deep" else json.dumps(value, check_circular=False)
    if random.random() < 0.1:
        text = text.replace("{", '{"format": 1, "format": 1, ', 1)
    if random.random() < 0.1:
        text = text.replace(": 0", ": NaN", 1)
    return text.encode("utf-8", "surrogatepass")


def change_bytes(random, content):
    """Flip a bit, replace, remove, insert or repeat bytes, or lose the end."""
    found = bytearray(content)
    start = random.randrange(max(len(found), 1))
    stop = min(start + random.choice([1, 8, 100]), len(found))
    how = random.choice(["flip"] * 4 + ["noise", "cut", "zero", "end", "more", "empty", "repeat"])
    if how == "flip" and found:
        found[start] ^= 1 << random.randrange(8)
    elif how == "noise":
        found[start:stop] = random.randbytes(stop - start)
    elif how == "cut":
        del found[start:stop]
    elif how == "zero":
        found[start:stop] = bytes(stop - start)
    elif how == "end":
        del found[start:]
    elif how == "more":
        found += random.randbytes(20)
    elif how == "repeat":
        found[start:start] = found[start:stop]
    else:
        found.clear()
    return bytes(found)


def damage(random, file):
    """Damage a file; return in words how."""
    content = file.read_bytes()
    kind = random.choice(["bytes"] * 3 + ["json"] * 5 * (file.suffix == ".json") + ["place"])
    if kind == "place":
        file.unlink()
        how = random.choice(["gone", "directory", "pipe", "link"])
        if how == "directory":
            file.mkdir()
        elif how == "pipe" and hasattr(os, "mkfifo"):
            os.mkfifo(file)
        elif how == "link":
            file.symlink_to("/dev/zero" if os.path.exists("/dev/zero") else file.name)
        return how
    file.write_bytes((change_json if kind == "json" else change_bytes)(random, content))
    return kind
