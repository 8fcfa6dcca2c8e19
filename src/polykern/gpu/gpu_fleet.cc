#include "polykern/gpu/gpu_fleet.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "polykern/core/error.h"
#include "polykern/core/kernels.h"
#include "polykern/core/vector_ops.h"
#include "polykern/gpu/fleet_samples.h"
#include "polykern/gpu/fleet_shape.h"

namespace polykern::gpu {
namespace {

constexpr U64 kNobody = ~U64{0};
constexpr U64 kSlice = 2048;  // clients whose updates a block adds up

U64 BlocksOf(U64 count, U64 each) {
  return (count + each - 1) / each;
}

/// What the kernels leave between each other, for the clients of a tile.
struct TileBuffers {
  TileBuffers(const Device& device, U64 clients, U64 kernels)
      : f(device, clients * kernels),
        along_z(device, clients * kernels),
        along_theta(device, clients),
        present(device, clients),
        who(device, clients),
        how_many(device, 1) {}

  Buffer<float> f;
  Buffer<float> along_z;
  Buffer<float> along_theta;
  Buffer<U8> present;
  Buffer<U32> who;
  Buffer<U32> how_many;
};

/// States and scores of all clients.
struct ClientBuffers {
  ClientBuffers(const Device& device, U64 clients, U64 kernels, bool private_weights)
      : losses(device, private_weights ? clients * kernels : 0),
        kernel_scores(device, clients * kernels),
        squared_error(device, clients),
        loss(device, clients),
        best(device, clients),
        taken(device, clients),
        unit_range(device, clients) {}

  Buffer<double> losses;
  Buffer<double> kernel_scores;
  Buffer<double> squared_error;
  Buffer<double> loss;
  Buffer<double> best;
  Buffer<U32> taken;
  Buffer<U8> unit_range;
};

/// Throws Error, with the number of clients that would fit, unless all of them do.
void CheckRoom(const Device& device, U64 clients, const KernelShape& shape) {
  const U64 each = 8 * U64{shape.kernels} * (shape.private_weights ? 2 : 1) + 3 * 8 + 4 + 1;
  const U64 tile = std::min(device.tile(), clients) * (U64{shape.kernels} * 8 + 64);
  const U64 room = device.free_memory();
  const U64 aside = tile + (U64{64} << 20);  // for the model, and what the driver needs
  const U64 left = room > aside ? room - aside : 0;
  if (clients * each <= left) return;
  throw Error(std::to_string(clients) + " clients need " +
              std::to_string((clients * each + tile) >> 20) + " MiB on the GPU, which has " +
              std::to_string(room >> 20) + " left: at most " + std::to_string(left / each) +
              " clients fit; lower " + OptionName("clients"));
}

class GpuFleet final : public Fleet {
 public:
  GpuFleet(const Device& device, const FleetSamples& samples, const Algorithm& algorithm,
           Clients& clients, bool at_start);

  FleetTotals Step(const Broadcast& sent, std::span<const double> uniforms,
                   std::span<double> predictions,
                   std::span<const std::span<std::int64_t>> sums) override;
  void ReadState(std::size_t client, std::span<double> state) override;
  void ReadStates(Clients& clients) override;
  void ReadScores(Scoreboard& scores) override;

 private:
  void WriteStates(Clients& clients);
  void SendModel(const Broadcast& sent);
  void StepTile(U64 offset, FleetArguments arguments, std::span<const double> uniforms,
                std::span<double> predictions);
  void Launch(const char* kernel, const Grid& grid, const FleetArguments& arguments) {
    queue_->Launch(*program_, kernel, grid, arguments);
  }
  FleetTotals Collect(std::span<const std::span<std::int64_t>> sums);
  void CheckFaults(const U64* totals) const;

  const Device& device_;
  const FleetSamples& samples_;
  const Algorithm& algorithm_;
  U64 clients_;
  FleetShape shape_;
  U64 n_;  // N
  std::shared_ptr<const Program> program_;
  std::unique_ptr<Queue> queue_;
  U64 tile_;
  ClientBuffers own_;
  TileBuffers between_;
  TileSamples tile_samples_;
  Buffer<float> frequencies_;
  Buffer<float> scales_;
  Buffer<float> theta_;
  Buffer<double> norms_;        // and the server's weights
  Buffer<U64> results_;         // sums, losses, totals
  Buffer<double> predictions_;  // of a tile, or one client's state
  Buffer<double> uniforms_;     // of a tile
  std::vector<float> model_;
  std::vector<double> norms_and_weights_;
  std::vector<U64> results_here_;
  FleetArguments arguments_ = {};
};

GpuFleet::GpuFleet(const Device& device, const FleetSamples& samples, const Algorithm& algorithm,
                   Clients& clients, bool at_start)
    : device_(device),
      samples_(samples),
      algorithm_(algorithm),
      clients_(clients.size()),
      shape_(ShapeOf(algorithm)),
      n_(shape_.kernels.kernels),
      queue_(device.NewQueue()),
      tile_(std::min(device.tile(), std::max<U64>(1, clients_))),
      own_((CheckRoom(device, clients_, shape_.kernels), device), clients_, n_,
           shape_.kernels.private_weights),
      between_(device, tile_, n_),
      tile_samples_(device, samples, tile_),
      theta_(device, n_ * 2 * shape_.kernels.padded_features()),
      norms_(device, 2 * n_),
      results_(device, n_ * 2 * shape_.kernels.features + n_ + kStepTotals),
      predictions_(device, std::max(tile_, n_)),
      uniforms_(device, tile_),
      model_(theta_.size()),
      norms_and_weights_(2 * n_),
      results_here_(results_.size()) {
  KernelShape& kernels = shape_.kernels;
  kernels.threads = device.threads();
  kernels.checks_angles = MayHaveLargeAngles(algorithm, samples.longest());
  program_ = device.Compile(kernels);
  const std::vector<float> packed = PackFrequencies(algorithm, kernels);
  frequencies_ = Buffer<float>(device, packed.size());
  queue_->Write(frequencies_.data(), packed.data(), frequencies_.bytes());
  const auto scales = algorithm.definition().bank->Scales();
  scales_ = Buffer<float>(device, scales.size());
  queue_->Write(scales_.data(), scales.data(), scales_.bytes());
  for (const auto* buffer :
       {&own_.losses, &own_.kernel_scores, &own_.squared_error, &own_.loss, &own_.best}) {
    queue_->Zero(buffer->data(), buffer->bytes());
  }
  queue_->Zero(own_.taken.data(), own_.taken.bytes());
  const std::vector<U8> all_in_range(clients_, 1);
  queue_->Write(own_.unit_range.data(), all_in_range.data(), all_in_range.size());
  if (!at_start) WriteStates(clients);
  const AlgorithmDefinition& definition = algorithm.definition();
  FleetArguments& a = arguments_;
  samples.Describe(a);
  a.frequencies = frequencies_.data();
  a.scales = scales_.data();
  a.theta = theta_.data();
  a.norms = norms_.data();
  a.weights = norms_.data() + n_;
  a.scale = 1 / std::sqrt(static_cast<float>(kernels.features));
  a.limit = UpdateLimit(a.all_clients);
  a.seed = definition.problem.seed;
  a.regularization = definition.options.regularization;
  a.huber = algorithm.loss().delta;
  a.exploration = shape_.exploration;
  a.losses = own_.losses.data();
  a.kernel_scores = own_.kernel_scores.data();
  a.squared_error = own_.squared_error.data();
  a.loss = own_.loss.data();
  a.best = own_.best.data();
  a.taken = own_.taken.data();
  a.unit_range = own_.unit_range.data();
  a.f = between_.f.data();
  a.along_z = between_.along_z.data();
  a.along_theta = between_.along_theta.data();
  a.sums = reinterpret_cast<I64*>(results_.data());
  a.loss_sums = a.sums + n_ * 2 * kernels.features;
  a.totals = results_.data() + n_ * 2 * kernels.features + n_;
  a.slice = kSlice;
}

void GpuFleet::WriteStates(Clients& clients) {
  if (own_.losses.size() == 0) return;
  std::vector<double> row(clients_);
  for (U64 i = 0; i < n_; ++i) {
    for (U64 k = 0; k < clients_; ++k) row[k] = clients.State(k)[i];
    queue_->Write(own_.losses.data() + i * clients_, row.data(), clients_ * sizeof(double));
  }
}

void GpuFleet::ReadStates(Clients& clients) {
  if (own_.losses.size() == 0) return;
  std::vector<double> row(clients_);
  for (U64 i = 0; i < n_; ++i) {
    queue_->Read(row.data(), own_.losses.data() + i * clients_, clients_ * sizeof(double));
    for (U64 k = 0; k < clients_; ++k) clients.State(k)[i] = row[k];
  }
}

void GpuFleet::ReadState(std::size_t client, std::span<double> state) {
  if (own_.losses.size() == 0) return;
  FleetArguments a = arguments_;
  a.offset = client;
  a.predictions = predictions_.data();
  Launch("GatherState", {}, a);
  queue_->Read(state.data(), predictions_.data(), n_ * sizeof(double));
}

void GpuFleet::ReadScores(Scoreboard& scores) {
  std::vector<double> squared_error(clients_);
  std::vector<double> loss(clients_);
  std::vector<double> best(clients_);
  std::vector<U32> taken(clients_);
  std::vector<U8> unit_range(clients_);
  queue_->Read(squared_error.data(), own_.squared_error.data(), own_.squared_error.bytes());
  queue_->Read(loss.data(), own_.loss.data(), own_.loss.bytes());
  queue_->Read(best.data(), own_.best.data(), own_.best.bytes());
  queue_->Read(taken.data(), own_.taken.data(), own_.taken.bytes());
  queue_->Read(unit_range.data(), own_.unit_range.data(), own_.unit_range.bytes());
  for (U64 k = 0; k < clients_; ++k) {
    scores.Set(k, {squared_error[k], loss[k], best[k], taken[k], unit_range[k] != 0});
  }
}

void GpuFleet::SendModel(const Broadcast& sent) {
  const KernelShape& kernels = shape_.kernels;
  PackModel(sent.model, kernels, model_);
  queue_->Write(theta_.data(), model_.data(), theta_.bytes());
  const std::size_t width = 2 * std::size_t{kernels.features};
  for (std::size_t i = 0; i < n_; ++i) {
    norms_and_weights_[i] = SumOfSquares(MatrixRow(sent.model, i, width));
    norms_and_weights_[n_ + i] =
        sent.weights.empty() ? 1 / static_cast<double>(n_) : sent.weights[i];
  }
  queue_->Write(norms_.data(), norms_and_weights_.data(), norms_.bytes());
  arguments_.most_theta = 0;
  for (const float value : sent.model) {
    if (!(std::abs(value) <= arguments_.most_theta)) arguments_.most_theta = std::abs(value);
  }
  arguments_.step = sent.step;
  arguments_.learning_rate = shape_.learning_rate.At(sent.step);
  if (shape_.weight_rate) arguments_.weight_rate = shape_.weight_rate->At(sent.step);
}

FleetTotals GpuFleet::Step(const Broadcast& sent, std::span<const double> uniforms,
                           std::span<double> predictions,
                           std::span<const std::span<std::int64_t>> sums) {
  SendModel(sent);
  std::ranges::fill(results_here_, U64{0});
  const std::span totals = std::span(results_here_).last(kStepTotals);
  for (const U32 who : {kNotFinite, kOutOfRange, kLargeAngle}) totals[who] = kNobody;
  queue_->Write(results_.data(), results_here_.data(), results_.bytes());
  for (U64 offset = 0; offset < clients_; offset += tile_) {
    StepTile(offset, arguments_, uniforms, predictions);
  }
  queue_->Read(results_here_.data(), results_.data(), results_.bytes());
  return Collect(sums);
}

void GpuFleet::StepTile(U64 offset, FleetArguments a, std::span<const double> uniforms,
                        std::span<double> predictions) {
  const KernelShape& kernels = shape_.kernels;
  a.offset = offset;
  a.count = std::min(tile_, clients_ - offset);
  if (!uniforms.empty()) {
    queue_->Write(uniforms_.data(), uniforms.data() + offset, a.count * sizeof(double));
    a.uniforms = uniforms_.data();
  }
  if (!predictions.empty()) a.predictions = predictions_.data();
  if (samples_.Place(tile_samples_, a))
    Launch("MakeSamples", {BlocksOf(a.count, kernels.threads)}, a);
  if (a.has_sample != nullptr || a.participation < 1) {
    a.present = between_.present.data();
    a.who = between_.who.data();
    a.how_many = between_.how_many.data();
    queue_->Zero(a.how_many, sizeof(U32));
    Launch("FindPresent", {BlocksOf(a.count, kernels.threads)}, a);
  }
  // Few clients: the kernels are shared out among the processors.
  const U64 across = BlocksOf(a.count, U64{kernels.threads} * kernels.clients_per_thread());
  const U64 shares = std::clamp<U64>(BlocksOf(4 * device_.processors(), across), 1, n_);
  Launch("PredictKernels", {across, shares}, a);
  Launch("LearnLabels", {BlocksOf(a.count, kernels.threads)}, a);
  a.slice = std::clamp<U64>(a.count * n_ / (8 * device_.processors()), kernels.threads, kSlice);
  const U64 slices = BlocksOf(a.count, a.slice);
  Launch("AddUpdates", {slices, n_, BlocksOf(kernels.features, kernels.features_per_block())}, a);
  if (shape_.sends_losses) Launch("AddLosses", {slices, n_}, a);
  if (!predictions.empty()) {
    queue_->Read(predictions.data() + offset, predictions_.data(), a.count * sizeof(double));
  }
}

void GpuFleet::CheckFaults(const U64* totals) const {
  const std::string step = std::to_string(arguments_.step);
  if (totals[kLargeAngle] != kNobody) {
    throw DeviceFailure(
        "client " + std::to_string(totals[kLargeAngle]) +
        " or one beside it has an angle above 32768 at step " + step +
        ", which the GPU does not compute as the CPU does: scale the inputs, or use the CPU");
  }
  if (totals[kOutOfRange] != kNobody) {
    throw Error("the update of client " + std::to_string(totals[kOutOfRange]) + " for step " +
                step + " was rejected: it holds numbers that are not finite or above " +
                std::to_string(static_cast<int>(arguments_.limit)) + " in size");
  }
  if (totals[kNotFinite] != kNobody) {
    throw Error("the prediction of client " + std::to_string(totals[kNotFinite]) + " for step " +
                step + " is not finite");
  }
}

FleetTotals GpuFleet::Collect(std::span<const std::span<std::int64_t>> sums) {
  const U64* totals = results_here_.data() + results_here_.size() - kStepTotals;
  CheckFaults(totals);
  const U64* from = results_here_.data();
  for (const std::span<std::int64_t> part : sums) {
    for (std::int64_t& sum : part) {
      sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) + *from++);
    }
  }
  FleetTotals found;
  const auto copy = [&](U32 at, DoubleSum& to) {
    std::memcpy(to.words().data(), totals + at, kSumWords * sizeof(U64));
  };
  static_assert(kSumWords == DoubleSum::kWords);
  copy(kSquaredError, found.squared_error);
  copy(kRegret, found.regret);
  found.fingerprint = totals[kFingerprint];
  const ModelShape& shape = algorithm_.shape();
  const std::uint64_t people = totals[kParticipants];
  const std::uint64_t blocks = totals[kBlocksSent];
  const std::uint64_t numbers = blocks * shape.width + people * shape.losses_per_update;
  const std::uint64_t most =
      people > 0 ? totals[kMostBlocks] * shape.width + shape.losses_per_update : 0;
  found.traffic = {people, numbers, 4 * numbers + 4 * blocks, 0, most};
  return found;
}

class GpuData final : public FleetData {
 public:
  GpuData(const Device& device, const Stream& stream, const ClientRange& own,
          const Attendance& attendance)
      : device_(device), samples_(device, stream, own, attendance) {}

  std::unique_ptr<Fleet> NewFleet(const Algorithm& algorithm, Clients& clients,
                                  bool at_start) const override {
    return std::make_unique<GpuFleet>(device_, samples_, algorithm, clients, at_start);
  }
  bool MeasureLabels(std::span<DoubleSum, 4> sums, std::int64_t& labels) const override {
    return samples_.MeasureLabels(sums, labels);
  }

 private:
  const Device& device_;
  FleetSamples samples_;
};

class GpuDevice final : public FleetDevice {
 public:
  explicit GpuDevice(std::unique_ptr<const Device> device) : device_(std::move(device)) {}

  std::string name() const override { return device_->name(); }
  void Check(const Algorithm& algorithm) const override { ShapeOf(algorithm); }
  DeviceFloors MeasureFloors() const override { return gpu::MeasureFloors(*device_); }
  std::unique_ptr<FleetData> Load(const Stream& stream, const ClientRange& own,
                                  const Attendance& attendance) const override {
    return std::make_unique<GpuData>(*device_, stream, own, attendance);
  }

 private:
  std::unique_ptr<const Device> device_;
};

}  // namespace

std::unique_ptr<FleetDevice> NewFleetDevice(std::unique_ptr<const Device> device) {
  return std::make_unique<GpuDevice>(std::move(device));
}

}  // namespace polykern::gpu
