#include "bench/numpy_twin.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <span>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/numpy_script.h"
#include "polykern/core/error.h"
#include "polykern/core/random.h"
#include "polykern/io/temporary_folder.h"
#include "polykern/sim/simulation.h"

namespace polykern {
namespace {

/// Writes a file and gives its path.
std::string Write(const std::string& path, const char* bytes, std::size_t size) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes, static_cast<std::streamsize>(size));
  if (!file.flush()) throw Error(path + ": cannot be written; is the disk full?");
  return path;
}

std::string Write(const std::string& path, std::span<const float> numbers) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the file is these bytes
  return Write(path, reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes());
}

std::string ShellQuoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

/// Runs a command line; returns its output, and whether it succeeded.
bool Shell(const std::string& command, std::string& output) {
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return false;
  std::array<char, 4096> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    output.append(buffer.data(), count);
  }
  return pclose(pipe) == 0;
}

bool HasNumpy(const std::string& python) {
  std::string ignored;
  return Shell(ShellQuoted(python) + " -c 'import numpy' 2>&1", ignored);
}

/// What the simulator makes of the first steps of the job with these draws.
double EngineMse(const BenchJob& job, std::size_t steps, std::span<const double> uniforms) {
  Workers one(1);
  Clients clients(*job.algorithm, 0, job.stream->clients());
  Simulation simulation(*job.algorithm, *job.stream, clients, one, {.uniforms = uniforms});
  for (std::size_t step = 0; step < steps; ++step) simulation.Step();
  const auto errors = simulation.step_mse();
  return std::accumulate(errors.begin(), errors.end(), 0.0) / static_cast<double>(steps);
}

}  // namespace

std::string FindNumpy(const std::string& python) {
  for (const std::string& candidate : {python, std::string("/usr/bin/python3")}) {
    if (HasNumpy(candidate)) return candidate;
  }
  throw Error("--numpy: " + python +
              " has no NumPy; install it (apt-get install python3-numpy) or name another --python");
}

NumpyTimes TimeNumpy(const BenchJob& job, const std::string& python, double seconds) {
  const BenchSetting& s = job.setting;
  // No more rows than the script can reach: it needs well over 100 microseconds a sample.
  constexpr double kFastest = 1e-4;
  constexpr std::size_t kLeastSteps = 4;  // as the script has it
  const double reach = seconds / (kFastest * static_cast<double>(s.clients));
  const auto steps =
      std::min(job.stream->steps(), std::max(kLeastSteps, static_cast<std::size_t>(reach) + 1));
  std::vector<float> rows;
  std::vector<double> uniforms(job.stream->steps() * s.clients);
  Random random(0, Purpose::kSubset);
  SampleBlock block;
  for (std::size_t step = 0; step < steps; ++step) {
    job.stream->Read(step, 0, s.clients, block);
    for (std::size_t k = 0; k < s.clients; ++k) {
      const auto x = std::span(block.x).subspan(k * s.dimension, s.dimension);
      rows.insert(rows.end(), x.begin(), x.end());
      rows.push_back(static_cast<float>(block.y[k]));
      rows.push_back(static_cast<float>(random.Bits() >> 40) * 0x1p-24F);
      uniforms[step * s.clients + k] = static_cast<double>(rows.back());
    }
  }
  const TemporaryFolder folder;
  std::vector<float> frequencies;
  for (std::size_t i = 0; i < s.kernels; ++i) {
    const auto rho = job.bank->Frequencies(i);
    frequencies.insert(frequencies.end(), rho.begin(), rho.end());
  }
  const auto option = [](const char* name, auto value) {
    return std::string(" ") + name + " " + std::to_string(value);
  };
  const std::string command =
      "OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 " + ShellQuoted(python) + " " +
      ShellQuoted(
          Write(folder.path() + "/pof_mkl_numpy.py", kNumpyScript, sizeof kNumpyScript - 1)) +
      " --rows " + ShellQuoted(Write(folder.path() + "/rows", rows)) + " --frequencies " +
      ShellQuoted(Write(folder.path() + "/frequencies", frequencies)) + option("-d", s.dimension) +
      option("-N", s.kernels) + option("-D", s.features) + option("-M", s.kernels_per_upload) +
      option("-K", s.clients) + option("--steps", job.stream->steps()) +
      option("--seconds", seconds);
  std::string output;
  if (!Shell(command, output)) throw Error("--numpy: the NumPy program failed under " + python);
  const auto result = nlohmann::json::parse(output, nullptr, false);
  if (!result.is_object()) throw Error("--numpy: the NumPy program printed '" + output + "'");
  NumpyTimes times;
  times.microseconds = result.at("microseconds_per_sample");
  times.steps = result.at("steps");
  times.mse = result.at("mse");
  times.engine_mse = EngineMse(job, times.steps, uniforms);
  return times;
}

}  // namespace polykern
