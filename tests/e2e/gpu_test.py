"""A GPU that cannot be used: one line that says what to do, and exit code 1. The bits of one that can: scripts/test-gpu."""

import os

import pytest
from results import SMALL

RUN = ["run", *SMALL, "-a", "ofmkl-avg", "--device", "gpu"]


@pytest.fixture
def broken(polykern, tmp_path):
    """broken(*command, driver=11040) runs with a driver and an NVRTC that compute nothing (broken_gpu.cc)."""
    libraries = tmp_path / "libraries"
    libraries.mkdir()

    def run(*command, nvrtc_is=os.environ["POLYKERN_BROKEN_GPU"], **settings):
        # This machine's NVRTC, if none is given, looks for a libcuda.so.1 as well, and would crash in this one.
        links = {"libcuda.so.1" if nvrtc_is else "libcuda.so": os.environ["POLYKERN_BROKEN_GPU"]}
        if nvrtc_is:
            links.update({name: nvrtc_is for name in ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so")})
        for name, library in links.items():
            (libraries / name).unlink(missing_ok=True)
            (libraries / name).symlink_to(library)
        env = {"LD_LIBRARY_PATH": str(libraries), "XDG_CACHE_HOME": str(tmp_path / "cache")}
        env.update({f"POLYKERN_BROKEN_{name.upper()}": str(value) for name, value in settings.items()})
        return polykern(*command, env=env)

    return run


def said(done):
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1), done.err
    return done.err


def test_a_driver_that_is_too_old_is_told_with_its_version(broken):
    assert said(broken(*RUN, driver=11040)) == (
        "polykern: the NVIDIA driver is too old: it is for CUDA 11.4, but this needs 12.0: install a newer one, or "
        "choose --device cpu\n")


def test_a_driver_without_nvrtc_is_told_what_is_missing(broken):
    another = os.environ["POLYKERN_POWER_LOSS_LIBRARY"]  # which has nothing of it
    assert said(broken(*RUN, nvrtc_is=another)) == (
        "polykern: no NVRTC (libnvrtc.so of CUDA 12 or later) is found, which compiles for the GPU: install it, name its "
        "folder in LD_LIBRARY_PATH, or choose --device cpu\n")


def test_an_nvrtc_that_is_newer_than_the_driver_is_told_which_one_goes_with_it(broken):
    assert said(broken(*RUN, driver=12040, nvrtc=13)) == (
        "polykern: NVRTC 13.3 does not go with the NVIDIA driver, which is for CUDA 12.4: install libnvrtc.so.12, or "
        "choose --device cpu\n")


@pytest.mark.parametrize("option", [["--settings", "air"], ["--numpy"], ["--growth"]])
def test_bench_refuses_what_it_does_not_measure_on_a_gpu(broken, option):
    assert said(broken("bench", "--device", "gpu", *option)) == (
        f"polykern: --device gpu measures whole steps alone: leave out {option[0]}\n")


@pytest.mark.parametrize("name", ["fomd-oms", "perfedavg", "local", "fed-poe", "em-kofl"])
def test_an_algorithm_without_a_gpu_form_is_told_with_those_that_have_one(broken, name):
    assert said(broken("run", *SMALL, "-a", f"pof-mkl,{name}", "--device", "gpu")) == (
        f"polykern: {name} does not run on a GPU yet, but these do: pof-mkl, pof-gram, pof-adagrad, ofskl, ofmkl-avg, "
        "vm-kofl; choose one with --algorithm, or --device cpu\n")


def test_clients_that_do_not_fit_are_told_before_memory_is_taken(broken):
    done = broken("run", "--clients", "500000000", "--steps", "2", "-r", "1", "-a", "pof-mkl", "-M", "1", "--device", "gpu",
                  memory=1 << 30)
    assert said(done) == (
        "polykern: 500000000 clients need 208588 MiB on the GPU, which has 1024 left: at most 1950729 clients fit; "
        "lower --clients\n")


@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_more_clients_than_sums_hold_are_told_before_memory_is_taken(broken, device):
    done = broken("run", "--clients", "2000000000000", "--steps", "2", "-a", "pof-mkl", "-M", "1", "--device", device)
    assert said(done) == (
        "polykern: 2000000000000 clients are too many: at most 1073741823 fit into one step; lower --clients\n")


def test_what_nvrtc_says_is_never_kept_as_code(broken, tmp_path):
    for _ in range(2):
        assert said(broken(*RUN)) == (
            "polykern: NVRTC cannot compile for sm_90 (error 0: there is a log, and no code): install one that knows this "
            "GPU, or choose --device cpu\n")
    assert not list((tmp_path / "cache").rglob("*.cubin"))


@pytest.mark.parametrize("options", [
    ["-a", "pof-mkl", "-M", "25"], ["-a", "pof-adagrad", "-M", "51"], ["-a", "vm-kofl", "--loss", "huber"],
    ["-a", "pof-gram", "--experts", "federated"],
])
def test_nvrtc_takes_the_kernels(broken, tmp_path, options):
    done = broken("run", *SMALL, *options, "--device", "gpu", driver=99000, nvrtc_is=None)
    if "no NVRTC" in done.err:
        pytest.skip("this machine has no NVRTC")
    assert "NVRTC" not in done.err, done.err
    kept = list((tmp_path / "cache/polykern/kernels").glob("*.cubin"))
    assert kept and all(b"PredictKernels" in one.read_bytes() for one in kept)
