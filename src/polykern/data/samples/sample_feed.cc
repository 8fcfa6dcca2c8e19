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

SampleFeed::SampleFeed(std::istream& input, std::string what, const SampleColumns& columns,
                       Scale scale, std::size_t most_waiting)
    : what_(std::move(what)),
      ahead_(columns.derived.ahead),
      reader_(input, what_, columns),
      scale_(scale),
      inputs_(columns, std::move(scale)),
      waiting_(most_waiting),
      timed_(!columns.time.empty()) {
  seen_.ranges.assign(columns.dimension + 1, {kNoEnd, -kNoEnd});
  for (std::size_t i = 0; i < columns.dimension; ++i) {
    if (inputs_.places()[i] > 0) seen_.ranges[i] = {0, 1};
  }
}

void SampleFeed::ScaleBy(Scale scale) {
  inputs_.ScaleBy(scale);
  scale_ = std::move(scale);
}

void SampleFeed::Change(const SampleColumns& columns, const Scale& scale) {
  reader_.Want(columns);
  InputPosition known;
  inputs_.Keep(known);
  known.means.clear();  // of other inputs
  inputs_ = SampleInputs(columns, scale);
  inputs_.Remember(known);
  scale_ = scale;
  ahead_ = columns.derived.ahead;
  timed_ = !columns.time.empty();
  waiting_.ForgetAll();
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
      if (inputs_.places()[i] == 0) Stretch(line.x[i], seen_.ranges[i]);
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

/// Samples are taken as they come: an agent cannot wait for those that belong before.
bool SampleFeed::WentBack(Seconds time) {
  const bool back = timed_ && last_time_ && time <= *last_time_;
  last_time_ = time;
  return back;
}

void SampleFeed::TakeSample(const InputSample& line, FeedSample& sample) {
  sample.went_back = WentBack(line.time) && !sample.seen_before;
  // Of what was learnt before, only samples that still wait for their labels matter.
  if (sample.seen_before && (line.y || !line.named)) {
    inputs_.Make(line.x, line.time, sample.x);  // for the means
    if (line.y) inputs_.Know(*line.y);
    return;
  }
  sample.time = line.time;
  const std::size_t clipped = inputs_.Make(line.x, line.time, sample.x);
  if (!sample.seen_before) {
    went_back_ += sample.went_back ? 1 : 0;
    ++samples_;
    clipped_ += clipped;
  }
  if (line.y) {
    TakeTarget(*line.y, sample);
  } else if (line.named && ahead_ == 1) {
    waiting_.Add(line.id, sample.x);
  }
}

void SampleFeed::TakeLabel(const InputSample& line, FeedSample& sample) {
  if (ahead_ > 1) {
    throw Error("a label must come with its sample where predictions are made " +
                std::to_string(ahead_) + " steps ahead");
  }
  auto waiting = waiting_.Take(line.id);
  if (sample.seen_before) return inputs_.Know(*line.y);
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
  inputs_.Know(y);
}

FeedCounts SampleFeed::counts() const {
  return {samples_,        clipped_,  waiting_.size(), waiting_.forgotten() + dropped_,
          clipped_labels_, went_back_};
}

std::string SampleFeed::Place(const InputPosition& read) const {
  return what_ + ", line " + std::to_string(read.line) + ": ";
}

}  // namespace polykern
