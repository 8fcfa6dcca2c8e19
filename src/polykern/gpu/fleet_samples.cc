#include "polykern/gpu/fleet_samples.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "polykern/core/error.h"
#include "polykern/results/text_table.h"

namespace polykern::gpu {

TileSamples::TileSamples(const Device& device, const FleetSamples& samples, U64 clients)
    : x(device, samples.made_there() ? clients * samples.stride() : 0),
      y(device, samples.made_there() ? clients : 0) {}

FleetSamples::FleetSamples(const Device& device, const Stream& stream, const ClientRange& own,
                           const Attendance& attendance)
    : device_(device),
      stream_(stream),
      synthetic_(dynamic_cast<const SyntheticFleet*>(&stream)),
      own_(own),
      attendance_(attendance) {
  const auto queue = device.NewQueue();
  if (synthetic_ == nullptr) {
    Upload(*queue);
    return;
  }
  std::vector<double> sites;
  for (std::size_t s = 0; s < synthetic_->options().sites; ++s) {
    const std::vector<double> site = synthetic_->SiteNumbers(s);
    sites.insert(sites.end(), site.begin(), site.end());
  }
  std::vector<double> turns;
  for (std::size_t step = 0; step < stream.steps(); ++step) {
    const auto turn = synthetic_->TurnAt(step);
    turns.insert(turns.end(), {turn.cosine, turn.sine});
  }
  sites_ = Buffer<double>(device, sites.size());
  turns_ = Buffer<double>(device, turns.size());
  queue->Write(sites_.data(), sites.data(), sites_.bytes());
  queue->Write(turns_.data(), turns.data(), turns_.bytes());
  double last = 0;
  queue->Read(&last, turns_.data() + turns_.size() - 1, sizeof(double));  // all is there
}

void FleetSamples::Upload(Queue& queue) {
  const std::size_t d = stream_.dimension();
  const std::size_t rows = stream_.steps() * own_.count;
  const std::size_t each = stream_.steps() * (stride() * sizeof(float) + sizeof(double) + 1);
  if (const std::size_t room = device_.free_memory(); each * own_.count > room) {
    throw Error("the samples of " + Count(own_.count, "client") + " need " +
                std::to_string(each * own_.count >> 20) + " MiB on the GPU, which has " +
                std::to_string(room >> 20) + " left: those of at most " +
                Count(room / each, "client") + " fit; lower " + OptionName("clients") + " or " +
                OptionName("steps") + ", or choose " + OptionName("device", "cpu"));
  }
  x_ = Buffer<float>(device_, rows * stride());
  y_ = Buffer<double>(device_, rows);
  std::vector<U8> has_sample(rows);
  std::vector<float> padded(own_.count * stride());
  SampleBlock block;
  double longest = 0;
  for (std::size_t step = 0; step < stream_.steps() && own_.count > 0; ++step) {
    stream_.Read(step, own_.first, own_.count, block);
    for (std::size_t k = 0; k < own_.count; ++k) {
      double square = 0;
      for (std::size_t j = 0; j < d; ++j) {
        const float value = block.x[k * d + j];
        padded[k * stride() + j] = value;
        square += static_cast<double>(value) * static_cast<double>(value);
      }
      if (!(square <= longest)) longest = square;
    }
    const std::size_t at = step * own_.count;
    queue.Write(x_.data() + at * stride(), padded.data(), padded.size() * sizeof(float));
    queue.Write(y_.data() + at, block.y.data(), own_.count * sizeof(double));
    std::ranges::copy(block.present, has_sample.begin() + static_cast<std::ptrdiff_t>(at));
  }
  longest_ = static_cast<float>(1.001 * std::sqrt(longest));
  if (std::ranges::find(has_sample, U8{0}) != has_sample.end()) {
    has_sample_ = Buffer<U8>(device_, rows);
    queue.Write(has_sample_.data(), has_sample.data(), rows);
  }
  double last = 0;
  if (rows > 0) queue.Read(&last, y_.data() + rows - 1, sizeof(double));  // all is there
}

void FleetSamples::Describe(FleetArguments& a) const {
  a.clients = own_.count;
  a.first_id = own_.first;
  a.all_clients = stream_.clients();
  a.steps = stream_.steps();
  a.attendance_seed = attendance_.seed;
  a.participation = attendance_.participation;
  a.all_x = x_.data();
  a.all_y = y_.data();
  a.all_has_sample = has_sample_.data();
  if (synthetic_ == nullptr) return;
  a.sites = sites_.data();
  a.turns = turns_.data();
  a.site_count = synthetic_->options().sites;
  a.fleet_seed = synthetic_->options().seed;
  a.noise = synthetic_->options().noise;
}

bool FleetSamples::Place(const TileSamples& tile, FleetArguments& a) const {
  if (made_there()) {
    a.x = tile.x.data();
    a.y = tile.y.data();
    return true;
  }
  const U64 at = a.step * own_.count + a.offset;
  a.x = x_.data() + at * stride();
  a.y = y_.data() + at;
  a.has_sample = has_sample_.size() > 0 ? has_sample_.data() + at : nullptr;
  return false;
}

bool FleetSamples::MeasureLabels(std::span<DoubleSum, 4> sums, std::int64_t& labels) const {
  if (!made_there()) return false;
  KernelShape shape;
  shape.threads = device_.threads();
  shape.dimension = static_cast<U32>(stream_.dimension());
  shape.kernels = shape.features = shape.per_upload = 1;
  const Buffer<U64> totals(device_, kNaiveTotals);
  const auto queue = device_.NewQueue();
  queue->Zero(totals.data(), totals.bytes());
  FleetArguments a = {};
  Describe(a);
  a.totals = totals.data();
  if (own_.count > 0) {
    const U64 blocks = (own_.count + shape.threads - 1) / shape.threads;
    queue->Launch(*device_.Compile(shape), "MeasureLabels", {blocks}, a);
  }
  std::vector<U64> found(kNaiveTotals);
  queue->Read(found.data(), totals.data(), totals.bytes());
  for (U32 s = 0; s < kNaiveSums; ++s) {
    std::memcpy(sums[s].words().data(), found.data() + s * kSumWords, kSumWords * sizeof(U64));
  }
  labels = static_cast<std::int64_t>(found.back());
  return true;
}

}  // namespace polykern::gpu
