"""Where the judges' Python packages are. A judge runs under any Python and moves itself into its environment."""
import importlib.util
import os
import sys

SKIP = 77
SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def in_ci():
    return os.environ.get("CI", "").lower() not in ("", "0", "false", "no")


def skip(reason):
    """Ends the test as not run; in CI, where scripts/setup.sh --judges has installed everything, as failed."""
    if in_ci():
        print("not run, which is a failure where CI is set:", reason)
        sys.exit(1)
    print("skipped:", reason)
    sys.exit(SKIP)


def environments():
    """The folder into which scripts/setup.sh --judges installs."""
    return os.environ.get("MD_VENVS") or os.path.expanduser("~/.cache/modeldoctor")


def enter(name, module):
    """Continues in the virtual environment `name`, or skips the test when `module` is installed nowhere."""
    if importlib.util.find_spec(module):
        return
    folder = environments()
    python = os.path.join(folder, name, "bin", "python")
    if not os.path.exists(python) or os.environ.get("MD_JUDGE") == name:
        skip(f"no {module}: scripts/setup.sh --judges installs it into {os.path.join(folder, name)}")
    os.execve(python, [python, *sys.argv], dict(os.environ, MD_JUDGE=name))


def vulkan_driver():
    """The manifest of a software Vulkan driver that the GPU accelerator runs on, or None."""
    known = [os.environ.get("VK_ICD_FILENAMES", ""), "/usr/lib/chromium/vk_swiftshader_icd.json"]
    return next((path for path in known if path and os.path.exists(path)), None)
