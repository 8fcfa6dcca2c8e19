#include "polykern/gpu/gpu_fleet.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "polykern/core/error.h"
#include "polykern/core/exact_sum.h"
#include "polykern/core/kernels.h"
#include "polykern/core/vector_ops.h"
#include "polykern/gpu/exp_table.h"
#include "polykern/gpu/fleet_buffers.h"
#include "polykern/gpu/fleet_samples.h"
#include "polykern/gpu/fleet_shape.h"
#include "polykern/gpu/fleet_tiles.h"
#include "polykern/gpu/gram_clients.h"

namespace polykern::gpu {
namespace {

constexpr U64 kNobody = ~U64{0};
constexpr U64 kStatesAtOnce = 1024;  // that are read

FleetShape ShapeOn(const Device& device, const FleetSamples& samples, const Algorithm& algorithm,
                   bool at_start) {
  FleetShape shape = ShapeOf(algorithm, at_start);
  shape.kernels.threads = device.threads();
  shape.kernels.checks_angles = MayHaveLargeAngles(algorithm, samples.longest());
  return shape;
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
  void Gather(U64 first, U64 count, std::span<double> states) const;
  void WriteStates(Clients& clients);
  void SendModel(const Broadcast& sent);
  void SendKernels(const Broadcast& sent);
  FleetTotals Collect(std::span<const U64> results,
                      std::span<const std::span<std::int64_t>> sums) const;
  Traffic TrafficOf(std::span<const U64> totals,
                    std::span<const std::span<std::int64_t>> sums) const;
  void CheckFaults(const U64* totals) const;

  const Algorithm& algorithm_;
  U64 clients_;
  FleetShape shape_;
  U64 n_;  // N
  ClientBuffers own_;
  std::optional<GramClients> gram_;  // pof-gram's
  FleetTiles tiles_;
  Queue& queue_;  // what is done once for all tiles
  Buffer<float> frequencies_;
  Buffer<float> scales_;
  Buffer<ExpEntry> exp_table_;
  Buffer<float> theta_;
  Buffer<double> norms_;  // and the server's weights
  Buffer<U64> results_;   // totals, sums, losses; pof-gram: totals, weights, counts, sums
  Buffer<double> state_;  // some clients'
  std::vector<float> model_;
  std::vector<double> norms_and_weights_;
  std::vector<U64> results_here_;
  FleetArguments arguments_ = {};
};

GpuFleet::GpuFleet(const Device& device, const FleetSamples& samples, const Algorithm& algorithm,
                   Clients& clients, bool at_start)
    : algorithm_(algorithm),
      clients_(clients.size()),
      shape_(ShapeOn(device, samples, algorithm, at_start)),
      n_(shape_.kernels.kernels),
      own_(device, clients_, shape_.kernels, FleetTiles::ClientsAtOnce(device)),
      tiles_(device, samples, shape_, clients_),
      queue_(tiles_.queue()),
      theta_(device, shape_.kernels.sizes > 0 ? algorithm.shape().blocks * algorithm.shape().width
                                              : n_ * 2 * shape_.kernels.padded_features()),
      norms_(device, 2 * n_),
      state_(device, kStatesAtOnce * algorithm.state_size()),
      model_(theta_.size()),
      norms_and_weights_(2 * n_) {
  const KernelShape& kernels = shape_.kernels;
  if (kernels.sizes > 0) gram_.emplace(device, algorithm, kernels, clients_);
  results_ = Buffer<U64>(
      device, kStepTotals + (gram_ ? gram_->MostResults() : n_ * 2 * kernels.features + n_));
  results_here_.resize(results_.size());
  const std::vector<float> packed = PackFrequencies(algorithm, kernels);
  frequencies_ = Buffer<float>(device, packed.size());
  queue_.Write(frequencies_.data(), packed.data(), frequencies_.bytes());
  const auto scales = algorithm.definition().bank->Scales();
  scales_ = Buffer<float>(device, scales.size());
  queue_.Write(scales_.data(), scales.data(), scales_.bytes());
  if (kernels.adahedge) {
    const std::vector<ExpEntry> table = ExpTable();
    exp_table_ = Buffer<ExpEntry>(device, table.size());
    queue_.Write(exp_table_.data(), table.data(), exp_table_.bytes());
  }
  own_.Clear(queue_);
  if (gram_) gram_->Clear(queue_);
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
  a.limit = ExactSum::LimitOf(a.all_clients);
  a.seed = definition.problem.seed;
  a.regularization = definition.options.regularization;
  a.huber = algorithm.loss().delta;
  a.exploration = shape_.exploration;
  a.log_kernels = shape_.pace * std::log(static_cast<double>(n_));
  a.exp_table = exp_table_.data();
  own_.Describe(a);
  if (gram_) gram_->Describe(a);
  a.state_size = static_cast<U32>(algorithm.state_size());
  a.totals = results_.data();
  a.sums = reinterpret_cast<I64*>(results_.data() + kStepTotals);
  a.loss_sums = a.sums + n_ * 2 * kernels.features;
}

/// Of pof-gram's clients none has samples yet.
void GpuFleet::WriteStates(Clients& clients) {
  if (own_.losses.size() == 0) return;
  std::vector<double> row(clients_);
  const auto write = [&](U64 i, double* there) {
    for (U64 k = 0; k < clients_; ++k) row[k] = clients.State(k)[i];
    queue_.Write(there, row.data(), clients_ * sizeof(double));
  };
  for (U64 i = 0; i < n_; ++i) write(i, own_.losses.data() + i * clients_);
  if (own_.gaps.size() > 0) write(n_, own_.gaps.data());
}

void GpuFleet::ReadStates(Clients& clients) {
  if (own_.losses.size() == 0) return;
  std::vector<double> rows;
  for (U64 first = 0; first < clients_; first += kStatesAtOnce) {
    const U64 count = std::min(kStatesAtOnce, clients_ - first);
    rows.resize(count * arguments_.state_size);
    Gather(first, count, rows);
    for (U64 k = 0; k < count; ++k) {
      std::ranges::copy(MatrixRow(rows, k, arguments_.state_size),
                        clients.State(first + k).begin());
    }
  }
}

void GpuFleet::ReadState(std::size_t client, std::span<double> state) {
  if (own_.losses.size() > 0) Gather(client, 1, state);
}

void GpuFleet::Gather(U64 first, U64 count, std::span<double> states) const {
  FleetArguments a = arguments_;
  a.offset = first;
  a.predictions = state_.data();
  queue_.Launch(tiles_.program(), "GatherStates", {count}, a);
  queue_.Read(states.data(), state_.data(), states.size_bytes());
}

void GpuFleet::ReadScores(Scoreboard& scores) {
  std::vector<double> squared_error(clients_);
  std::vector<double> loss(clients_);
  std::vector<double> best(clients_);
  std::vector<U32> taken(clients_);
  std::vector<U8> unit_range(clients_);
  queue_.Read(squared_error.data(), own_.squared_error.data(), own_.squared_error.bytes());
  queue_.Read(loss.data(), own_.loss.data(), own_.loss.bytes());
  queue_.Read(best.data(), own_.best.data(), own_.best.bytes());
  queue_.Read(taken.data(), own_.taken.data(), own_.taken.bytes());
  queue_.Read(unit_range.data(), own_.unit_range.data(), own_.unit_range.bytes());
  for (U64 k = 0; k < clients_; ++k) {
    scores.Set(k, {squared_error[k], loss[k], best[k], taken[k], unit_range[k] != 0});
  }
}

void GpuFleet::SendModel(const Broadcast& sent) {
  if (gram_) {
    queue_.Write(theta_.data(), sent.model.data(), theta_.bytes());
    gram_->Begin(sent, queue_, results_.data() + kStepTotals, arguments_);
  } else {
    SendKernels(sent);
  }
  arguments_.step = sent.step;
  arguments_.learning_rate = shape_.learning_rate.At(sent.step);
  if (shape_.weight_rate) arguments_.weight_rate = shape_.weight_rate->At(sent.step);
}

void GpuFleet::SendKernels(const Broadcast& sent) {
  const KernelShape& kernels = shape_.kernels;
  PackModel(sent.model, kernels, model_);
  queue_.Write(theta_.data(), model_.data(), theta_.bytes());
  const std::size_t width = 2 * std::size_t{kernels.features};
  for (std::size_t i = 0; i < n_; ++i) {
    norms_and_weights_[i] = SumOfSquares(MatrixRow(sent.model, i, width));
    norms_and_weights_[n_ + i] =
        sent.weights.empty() ? 1 / static_cast<double>(n_) : sent.weights[i];
  }
  queue_.Write(norms_.data(), norms_and_weights_.data(), norms_.bytes());
  arguments_.most_theta = 0;
  for (const float value : sent.model) {
    if (!(std::abs(value) <= arguments_.most_theta)) arguments_.most_theta = std::abs(value);
  }
}

FleetTotals GpuFleet::Step(const Broadcast& sent, std::span<const double> uniforms,
                           std::span<double> predictions,
                           std::span<const std::span<std::int64_t>> sums) {
  SendModel(sent);
  const std::span used =
      std::span(results_here_)
          .first(kStepTotals + (gram_ ? gram_->Results() : results_.size() - kStepTotals));
  std::ranges::fill(used, U64{0});
  for (const U32 who : {kNotFinite, kOutOfRange, kLargeAngle}) used[who] = kNobody;
  queue_.Zero(results_.data(), used.size_bytes());
  queue_.Write(arguments_.totals, used.data(), kStepTotals * sizeof(U64));
  tiles_.Step(arguments_, uniforms, predictions,
              gram_ ? gram_->turn() : std::span<const TurnEntry>());
  queue_.Read(used.data(), results_.data(), used.size_bytes());
  tiles_.MakeNextSamples(arguments_);
  return Collect(used, sums);
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

FleetTotals GpuFleet::Collect(std::span<const U64> results,
                              std::span<const std::span<std::int64_t>> sums) const {
  const auto totals = results.first(kStepTotals);
  CheckFaults(totals.data());
  const U64* from = results.data() + kStepTotals;
  if (gram_) {
    gram_->Collect(results.subspan(kStepTotals), totals, sums);
  } else {
    for (const std::span<std::int64_t> part : sums) {
      for (std::int64_t& sum : part) {
        sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) + *from++);
      }
    }
  }
  FleetTotals found;
  const auto copy = [&](U32 at, DoubleSum& to) {
    std::memcpy(to.words().data(), totals.data() + at, kSumWords * sizeof(U64));
  };
  static_assert(kSumWords == DoubleSum::kWords);
  copy(kSquaredError, found.squared_error);
  copy(kRegret, found.regret);
  found.fingerprint = totals[kFingerprint];
  found.traffic = TrafficOf(totals, sums);
  return found;
}

Traffic GpuFleet::TrafficOf(std::span<const U64> totals,
                            std::span<const std::span<std::int64_t>> sums) const {
  const ModelShape& shape = algorithm_.shape();
  const std::uint64_t people = totals[kParticipants];
  std::uint64_t blocks = totals[kBlocksSent];
  std::uint64_t numbers = blocks * shape.width + people * shape.losses_per_update;
  std::uint64_t most = totals[kMostBlocks] * shape.width + shape.losses_per_update;
  if (gram_) {  // everyone sends the sums of the turn, and the counts before them beside these
    most = 0;
    for (const auto& part : sums.subspan(1)) most += part.size();
    blocks = people * (sums.size() - 1);
    numbers = people * most;
  }
  const std::uint64_t each = shape.ring.bits > 32 ? 8 : 4;
  return {people, numbers, each * numbers + 4 * blocks, 0, people > 0 ? most : 0};
}

class GpuData final : public FleetData {
 public:
  GpuData(const Device& device, const Stream& stream, const ClientRange& own,
          const Attendance& attendance)
      : device_(device), samples_(device, stream, own, attendance) {}

  std::unique_ptr<Fleet> NewFleet(const Algorithm& algorithm, Clients& clients,
                                  bool at_start) const override {
    try {
      return std::make_unique<GpuFleet>(device_, samples_, algorithm, clients, at_start);
    } catch (const NoRoom&) {  // what was there is free again
      const KernelShape shape = ShapeOf(algorithm, at_start).kernels;
      throw TooManyClients(device_, clients.size(), shape, FleetTiles::ClientsAtOnce(device_));
    }
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
  std::string id() const override { return device_->id(); }
  void Check(const Algorithm& algorithm) const override { ShapeOf(algorithm, true); }
  void CheckRoom(const Algorithm& algorithm, std::size_t clients, bool at_start) const override {
    gpu::CheckRoom(*device_, clients, ShapeOf(algorithm, at_start).kernels,
                   FleetTiles::ClientsAtOnce(*device_));
  }
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
