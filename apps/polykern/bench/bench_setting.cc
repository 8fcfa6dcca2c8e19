#include "bench/bench_setting.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <utility>
#include <vector>

#include "polykern/algorithms/paper/pof_mkl.h"
#include "polykern/core/kernels.h"
#include "polykern/core/random.h"
#include "polykern/data/recipes.h"
#include "polykern/data/split.h"
#include "polykern/data/table_stream.h"

namespace polykern {
namespace {

/// Enough that rows do not stay in the caches; steps beyond start again from the first.
constexpr std::size_t kMostNumbers = std::size_t{1} << 22;

std::shared_ptr<const Dataset> DrawRows(const BenchSetting& setting, std::uint64_t seed,
                                        std::size_t steps) {
  auto data = std::make_shared<Dataset>();
  data->name = setting.name;
  data->dimension = setting.dimension;
  const std::size_t rows = std::min(kMostNumbers / setting.dimension, setting.clients * steps);
  double longest = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    Random random(seed, Purpose::kSample, row);
    double square = 0;
    double phase = 0;
    for (std::size_t i = 0; i < setting.dimension; ++i) {
      const double value = random.Uniform();
      square += value * value;
      if (i < 2) phase += 4 * value;
      data->x.push_back(static_cast<float>(value));
    }
    longest = std::max(longest, square);
    data->y.push_back(0.5 + 0.5 * std::sin(phase));
  }
  const auto factor = static_cast<float>(1 / std::sqrt(longest));
  for (float& value : data->x) value *= factor;
  return data;
}

double MeanNonzeroInputs(const Stream& stream) {
  SampleBlock block;
  stream.Read(0, 0, stream.clients(), block);
  const auto nonzero = std::ranges::count_if(block.x, [](float value) { return value != 0; });
  return static_cast<double>(nonzero) / static_cast<double>(stream.clients());
}

}  // namespace

std::span<const BenchSetting> BenchSettings() {
  static const std::array<BenchSetting, 6> settings = {{
      {"naval", 15, 51, 100, 1, 23},
      {"air", 14, 51, 100, 1, 240},
      {"wec", 48, 51, 100, 1, 560},
      {"wec-20", 48, 51, 20, 25, 560},
      {"wec-9", 48, 51, 9, 51, 560},
      {"uji", 520, 51, 100, 1, 42},
  }};
  return settings;
}

BenchJob MakeBenchJob(const BenchSetting& setting, std::uint64_t seed, std::size_t steps) {
  auto data = DrawRows(setting, seed, steps);
  std::vector<std::uint32_t> index(setting.clients * steps);
  for (std::size_t i = 0; i < index.size(); ++i) {
    index[i] = static_cast<std::uint32_t>(i % data->rows());
  }
  return MakeBenchJob(setting,
                      std::make_shared<const TableStream>(
                          std::move(data), std::move(index),
                          std::vector<std::uint32_t>(setting.clients), std::vector{setting.name}),
                      seed);
}

BenchJob MakeBenchJob(const BenchSetting& setting, std::shared_ptr<const Stream> stream,
                      std::uint64_t seed) {
  BenchJob job;
  job.setting = setting;
  job.nonzero_inputs = MeanNonzeroInputs(*stream);
  job.stream = std::move(stream);
  job.bank = std::make_shared<const KernelBank>(MakeDictionary("gaussian", setting.kernels),
                                                setting.dimension, setting.features, seed);
  AlgorithmOptions options;
  options.kernels = setting.kernels;
  options.kernels_per_upload = setting.kernels_per_upload;
  options.features = setting.features;
  options.budget = 2 * setting.kernels_per_upload * setting.features;
  job.algorithm =
      NewPofMkl({job.bank,
                 options,
                 {.dimension = setting.dimension, .horizon = job.stream->steps(), .seed = seed}});
  return job;
}

std::shared_ptr<const Stream> OpenUji(const std::string& data_dir, std::uint64_t seed) {
  const Recipe& recipe = FindRecipe("uji");
  for (const std::string& file : recipe.files) {
    if (!std::filesystem::exists(std::filesystem::path(data_dir) / file)) return nullptr;
  }
  ScalingOptions scaling;
  scaling.background = recipe.background;
  return Deal(std::make_shared<const Dataset>(LoadRecipe(recipe, data_dir, scaling)),
              recipe.PaperSplit(seed));
}

}  // namespace polykern
