#include "polykern/data/samples/sample_feed.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "polykern/core/error.h"

namespace polykern {
namespace {

constexpr double kNoEnd = std::numeric_limits<double>::infinity();
constexpr double kLargestSeen = 1e300;  // the width of a range must be a number

void Stretch(double value, Range& range) {
  if (!(std::abs(value) <= kLargestSeen)) return;
  range.low = std::min(range.low, value);
  range.high = std::max(range.high, value);
}

}  // namespace

SampleFeed::SampleFeed(std::istream& input, std::string what, SampleColumns columns, Scale scale,
                       std::size_t most_waiting)
    : what_(std::move(what)),
      dimension_(columns.dimension),
      derived_(columns.derived),
      reader_(input, what_, std::move(columns)),
      scale_(std::move(scale)),
      waiting_(most_waiting) {
  seen_.ranges.assign(dimension_ + 1, {kNoEnd, -kNoEnd});
}

bool SampleFeed::Resume(const InputPosition& learnt) {
  const bool same = reader_.BeginsWith(learnt);
  if (same) learnt_lines_ = learnt.line;
  return same;
}

bool SampleFeed::Collect(FeedSample& sample, std::size_t most) {
  InputSample line;
  if (!reader_.Next(line)) return false;
  sample = {.read = line.read, .problem = line.problem, .id = line.id};
  sample.late_label = line.x.empty();
  if (line.problem.empty()) {
    for (std::size_t i = 0; i < line.x.size(); ++i) Stretch(line.x[i], seen_.ranges[i]);
    if (line.y) Stretch(*line.y, seen_.ranges.back());
    seen_.labels += line.y ? 1 : 0;
  }
  collected_.push_back(std::move(line));
  if (collected_.size() > most) {
    collected_.pop_front();
    ++dropped_;
  }
  return true;
}

SeenValues SampleFeed::seen() const {
  SeenValues seen = seen_;
  seen.lines = collected_.size();
  return seen;
}

/// What was collected comes first.
bool SampleFeed::NextLine(InputSample& line, FeedSample& sample) {
  const bool collected = !collected_.empty();
  if (collected) {
    line = std::move(collected_.front());
    collected_.pop_front();
  } else if (!reader_.Next(line)) {
    return false;
  }
  sample = {.read = line.read, .problem = line.problem, .id = line.id, .collected = collected};
  return true;
}

bool SampleFeed::Next(FeedSample& sample) {
  InputSample line;
  while (NextLine(line, sample)) {
    const bool learnt_before = sample.seen_before = line.read.line <= learnt_lines_;
    if (!sample.problem.empty()) return true;
    try {
      if (line.x.empty()) {
        TakeLabel(line, sample);
      } else {
        TakeSample(line, sample);
      }
    } catch (const Error& error) {
      sample.problem = Place(line.read) + error.marked();
      return true;
    }
    if (!learnt_before) return true;
  }
  return false;
}

void SampleFeed::TakeSample(const InputSample& line, FeedSample& sample) {
  // Of what was learnt before, only samples that still wait for their labels matter.
  if (sample.seen_before && (line.y || !line.named)) {
    if (line.y) Know(*line.y);
    return;
  }
  sample.time = line.time;
  std::vector<double> x = line.x;
  Derive(line.time, x);
  sample.x.resize(x.size());
  const std::size_t clipped = scale_.ScaleInputs(x, sample.x);
  if (!std::ranges::all_of(sample.x, [](float value) { return std::isfinite(value); })) {
    throw Error("an input is too large for a number of 32 bits");
  }
  if (!sample.seen_before) {
    ++samples_;
    clipped_ += clipped;
  }
  if (line.y) {
    TakeTarget(*line.y, sample);
  } else if (line.named) {
    waiting_.Add(line.id, sample.x);
  }
}

void SampleFeed::TakeLabel(const InputSample& line, FeedSample& sample) {
  auto waiting = waiting_.Take(line.id);
  if (sample.seen_before) return Know(*line.y);
  if (!waiting) throw Error("no sample " + line.id + " waits for a label");
  sample.late_label = true;
  sample.x = std::move(waiting->x);
  sample.told = std::move(waiting->told);
  TakeTarget(*line.y, sample);
}

void SampleFeed::TakeTarget(double y, FeedSample& sample) {
  sample.clipped_label = scale_.ClipsLabel(y);
  clipped_ += sample.clipped_label ? 1 : 0;
  clipped_labels_ += sample.clipped_label ? 1 : 0;
  sample.y = scale_.ScaleLabel(y);
  Know(y);
}

/// As the rows of a file have them, see dataset.cc: before there is a label, the middle.
void SampleFeed::Derive(Seconds time, std::vector<double>& x) const {
  const auto [low, high] = scale_.target;
  for (const std::size_t lag : derived_.lags) {
    x.push_back(lag <= labels_.size() ? std::clamp(labels_[labels_.size() - lag], low, high)
                                      : low + (high - low) / 2);
  }
  if (derived_.calendar.empty()) return;
  x.resize(x.size() + 2 * derived_.calendar.size());
  CalendarInputs(derived_.calendar, time, std::span(x).last(2 * derived_.calendar.size()));
}

void SampleFeed::Know(double label) {
  if (derived_.lags.empty()) return;
  labels_.push_back(label);
  if (labels_.size() > std::ranges::max(derived_.lags)) labels_.pop_front();
}

void SampleFeed::Remember(std::span<const double> labels) {
  for (const double label : labels) Know(label);
}

FeedCounts SampleFeed::counts() const {
  return {samples_, clipped_, waiting_.size(), waiting_.forgotten() + dropped_, clipped_labels_};
}

std::string SampleFeed::Place(const InputPosition& read) const {
  return what_ + ", line " + std::to_string(read.line) + ": ";
}

}  // namespace polykern
