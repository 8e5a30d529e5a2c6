"""Where the judges' Python packages are. A judge runs under any Python and moves itself into its environment."""
import importlib.util
import os
import sys

SKIP = 77
SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def skip(reason):
    print("skipped:", reason)
    sys.exit(SKIP)


def enter(name, module):
    """Continues in the virtual environment `name`, or skips the test when `module` is installed nowhere."""
    if importlib.util.find_spec(module):
        return
    folder = os.environ.get("MD_VENVS") or os.path.expanduser("~/.cache/modeldoctor")
    python = os.path.join(folder, name, "bin", "python")
    if not os.path.exists(python) or os.environ.get("MD_JUDGE") == name:
        skip(f"no {module}: scripts/setup.sh --judges installs it into {os.path.join(folder, name)}")
    os.execve(python, [python, *sys.argv], dict(os.environ, MD_JUDGE=name))


def vulkan_driver():
    """The manifest of a software Vulkan driver that the GPU accelerator runs on, or None."""
    known = [os.environ.get("VK_ICD_FILENAMES", ""), "/usr/lib/chromium/vk_swiftshader_icd.json"]
    return next((path for path in known if path and os.path.exists(path)), None)
