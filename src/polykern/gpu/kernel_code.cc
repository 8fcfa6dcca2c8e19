#include "polykern/gpu/kernel_code.h"

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>

#include "kernel_source.h"
#include "polykern/core/error.h"
#include "polykern/io/checksum.h"
#include "polykern/io/files.h"

namespace polykern::gpu {
namespace {

std::string HexOf(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const std::byte byte : Sha256(std::as_bytes(std::span(text)))) {
    hex += kDigits[std::to_integer<unsigned>(byte) / 16];
    hex += kDigits[std::to_integer<unsigned>(byte) % 16];
  }
  return hex;
}

/// Empty: the user has none.
std::string CacheFolder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0') {
    return std::string(cache) + "/polykern/kernels";
  }
  const char* home = std::getenv("HOME");
  return home != nullptr && *home != '\0' ? std::string(home) + "/.cache/polykern/kernels" : "";
}

/// What was kept, if it is whole: its checksum stands before it.
std::string ReadKept(const std::string& path) {
  constexpr std::size_t kSum = 64;
  try {
    if (std::error_code none; !std::filesystem::is_regular_file(path, none)) return {};
    const std::string kept = ReadWholeFile(path);
    if (kept.size() <= kSum || HexOf(std::string_view(kept).substr(kSum)) != kept.substr(0, kSum))
      return {};
    return kept.substr(kSum);
  } catch (const Error&) {
    return {};
  }
}

void Keep(const std::string& path, const std::string& code) {
  const std::string text = HexOf(code) + code;
  const WriteOptions options = {.durable = false, .many_writers = true, .make_folder = true};
  if (!TryReplaceFile(path, text, options)) return;
  // Only an empty folder of this name can be in the way, which may be removed.
  if (std::error_code none; std::filesystem::remove(path, none)) {
    static_cast<void>(TryReplaceFile(path, text, options));
  }
}

}  // namespace

std::string SourceFor(const KernelShape& shape) {
  std::string text;
  const auto add = [&](const char* type, const char* name, U32 value) {
    text += "constexpr " + std::string(type) + " " + name + " = " + std::to_string(value) + ";\n";
  };
  const auto number = [&](const char* name, U32 value) { add("unsigned", name, value); };
  const auto flag = [&](const char* name, bool value) { add("bool", name, value ? 1 : 0); };
  number("kThreads", shape.threads);
  number("kDimension", shape.dimension);
  number("kStride", shape.stride());
  number("kStrideRoom", shape.stride());
  number("kKernels", shape.kernels);
  number("kKernelRoom", shape.kernels);
  number("kFeatures", shape.features);
  number("kPaddedFeatures", shape.padded_features());
  number("kFeatureTile", shape.feature_tile());
  number("kFeaturesPerBlock", shape.features_per_block());
  number("kPerUpload", shape.per_upload);
  number("kClientsPerThread", shape.clients_per_thread());
  number("kClientsPerThreadRoom", shape.clients_per_thread());
  if (shape.sizes > 0) {
    text += "#define WITH_GRAM\n";
    number("kSizes", shape.sizes);
    number("kPastRows", shape.past_rows());
    number("kPastRoom", shape.past_room());
  }
  flag("kSharedDraw", shape.shared_draw);
  flag("kChecksAngles", shape.checks_angles);
  flag("kHuberLoss", shape.huber);
  flag("kPrivateWeights", shape.private_weights);
  flag("kAdaHedge", shape.adahedge);
  flag("kChoosesKernels", shape.chooses_kernels);
  flag("kExploresOnly", shape.explores_only);
  flag("kSendsAll", shape.sends_all());
  flag("kScoresAreLosses", shape.scores_are_losses);
  return text + kKernelSource;
}

std::shared_ptr<const Program> LoadKernels(const std::string& source,
                                           const std::string& architecture,
                                           const KernelCompiler& compiler,
                                           const KernelLoader& load) {
  const std::string folder = CacheFolder();
  const std::string path =
      folder + "/" + architecture + "-" + HexOf(compiler.name + "\n" + source) + ".cubin";
  if (!folder.empty()) {
    if (const std::string kept = ReadKept(path); !kept.empty()) {
      if (auto program = load(kept)) return program;
    }
  }
  const std::string code = compiler.compile(source, architecture);
  auto program = load(code);
  if (program == nullptr) {
    throw Error("the GPU (" + architecture + ") does not take the code of " + compiler.name +
                ": install a newer NVIDIA driver, or choose " + OptionName("device", "cpu"));
  }
  if (!folder.empty()) Keep(path, code);
  return program;
}

}  // namespace polykern::gpu
