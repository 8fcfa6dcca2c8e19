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

std::vector<std::size_t> PlacesOf(const SampleColumns& columns) {
  std::vector<std::size_t> places(columns.dimension);
  for (std::size_t i = 0; i < columns.inputs.size(); ++i) {
    const auto texts = columns.texts.find(columns.inputs[i]);
    if (texts == columns.texts.end()) continue;
    places[i] = texts->second.empty() ? kMostOneHot : texts->second.size();
  }
  return places;
}

}  // namespace

SampleFeed::SampleFeed(std::istream& input, std::string what, const SampleColumns& columns,
                       Scale scale, std::size_t most_waiting)
    : what_(std::move(what)),
      dimension_(columns.dimension),
      derived_(columns.derived),
      places_(PlacesOf(columns)),
      reader_(input, what_, columns),
      scale_(std::move(scale)),
      waiting_(most_waiting) {
  seen_.ranges.assign(dimension_ + 1, {kNoEnd, -kNoEnd});
  std::size_t inputs = 0;
  for (std::size_t i = 0; i < dimension_; ++i) {
    if (places_[i] > 0) seen_.ranges[i] = {0, 1};
    inputs += std::max<std::size_t>(places_[i], 1);
  }
  if (columns.impute) means_.emplace(inputs + dimension_ + derived_.size());
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
    for (std::size_t i = 0; i < line.x.size(); ++i) {
      if (places_[i] == 0) Stretch(line.x[i], seen_.ranges[i]);
    }
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
    if (means_) MakeInputs(line, sample.x);
    if (line.y) Know(*line.y);
    return;
  }
  sample.time = line.time;
  const std::size_t clipped = MakeInputs(line, sample.x);
  if (!sample.seen_before) {
    ++samples_;
    clipped_ += clipped;
  }
  if (line.y) {
    TakeTarget(*line.y, sample);
  } else if (line.named && derived_.ahead == 1) {
    waiting_.Add(line.id, sample.x);
  }
}

/// Scaled; returns how many were clipped.
std::size_t SampleFeed::MakeInputs(const InputSample& line, std::vector<float>& x) {
  std::vector<double> raw = Columns(line.x);
  Derive(line.time, raw);
  x.resize(raw.size());
  const std::size_t clipped = scale_.ScaleInputs(raw, x);
  if (std::ranges::any_of(x, [](float value) { return std::isinf(value); })) {
    throw Error("an input is too large for a number of 32 bits");
  }
  if (means_) means_->Fill(x);
  return clipped;
}

/// As InputColumns has them: texts become marks, and what may be missing gets one.
std::vector<double> SampleFeed::Columns(const std::vector<double>& own) const {
  std::vector<double> x;
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (places_[i] == 0) {
      x.push_back(own[i]);
      continue;
    }
    x.resize(x.size() + places_[i]);
    if (!std::isnan(own[i])) x[x.size() - places_[i] + static_cast<std::size_t>(own[i])] = 1;
  }
  if (!means_) return x;
  for (const double value : own) x.push_back(std::isnan(value) ? 1 : 0);
  return x;
}

void SampleFeed::TakeLabel(const InputSample& line, FeedSample& sample) {
  if (derived_.ahead > 1) {
    throw Error("a label must come with its sample where predictions are made " +
                std::to_string(derived_.ahead) + " steps ahead");
  }
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
  for (const std::size_t before : derived_.lags) {
    const std::size_t lag = before + 1 - derived_.ahead;  // from the label of this line
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
  if (labels_.size() > std::ranges::max(derived_.lags) + 1 - derived_.ahead) labels_.pop_front();
}

void SampleFeed::Remember(const InputPosition& before) {
  for (const double label : before.labels) Know(label);
  if (means_) means_->Load(before.means);
}

void SampleFeed::Keep(InputPosition& position) const {
  position.labels = {labels_.begin(), labels_.end()};
  if (means_) position.means = means_->Save();
}

FeedCounts SampleFeed::counts() const {
  return {samples_, clipped_, waiting_.size(), waiting_.forgotten() + dropped_, clipped_labels_};
}

std::string SampleFeed::Place(const InputPosition& read) const {
  return what_ + ", line " + std::to_string(read.line) + ": ";
}

}  // namespace polykern
