#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <istream>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "polykern/data/samples/sample_inputs.h"
#include "polykern/data/samples/sample_reader.h"
#include "polykern/data/samples/waiting_samples.h"
#include "polykern/data/scaling.h"
#include "polykern/io/input_position.h"

namespace polykern {

/// What an agent does with a line of its input: predict, and learn if there is a label.
struct FeedSample {
  InputPosition read = {};   ///< the input up to this line
  std::string problem = {};  ///< why the line cannot be used; then x and y mean nothing
  bool seen_before = false;  ///< an earlier process has told of the problem
  std::string id = {};       ///< as JSON: what the sample calls itself, or its line
  bool late_label = false;   ///< x was predicted for before: only the label is new
  std::optional<ToldPrediction> told = {};  ///< of a late label, unless an earlier process told it
  Seconds time = 0;                         ///< if there is a column of times; not of a late label
  bool went_back = false;                   ///< the time is not later than that of the line before
  std::vector<float> x = {};                ///< scaled
  std::optional<double> y = {};             ///< scaled; none: the label is not known yet
  bool clipped_label = false;               ///< the label was outside its range
  bool collected = false;                   ///< it was read before the scale was known
};

struct FeedCounts {
  std::uint64_t samples = 0;         ///< to predict for
  std::uint64_t clipped = 0;         ///< inputs and labels outside their range
  std::uint64_t waiting = 0;         ///< samples whose labels have not come
  std::uint64_t forgotten = 0;       ///< samples that waited too long for them
  std::uint64_t clipped_labels = 0;  ///< of those clipped
  std::uint64_t went_back = 0;       ///< samples whose times did
};

/// What the lines that were read before the scale was known hold.
struct SeenValues {
  std::vector<Range> ranges = {};  ///< of each input, and last of the label
  std::size_t labels = 0;
  std::size_t lines = 0;  ///< that are kept
};

/// An agent's input as the samples it predicts for and learns from: read (SampleReader), scaled,
/// and with labels that came later put back beside their samples. The input must outlive this. Use
/// it from one thread. Throws as SampleReader does.
class SampleFeed {
 public:
  /// `what` is the input's name, for messages; of more than `most_waiting` samples without a label
  /// the oldest is forgotten.
  SampleFeed(std::istream& input, std::string what, const SampleColumns& columns, Scale scale,
             std::size_t most_waiting);

  /// The input is a file of which an earlier process has learnt so much, and that is not returned
  /// again: call it before Next. False, and all is returned, if the input does not begin with that.
  bool Resume(const InputPosition& learnt);

  /// Reads a line before the scale is known, and keeps it for Next: so none is lost; of more than
  /// `most` the oldest is forgotten. Of `sample` id, problem, late_label and read are set. False at
  /// the end.
  bool Collect(FeedSample& sample, std::size_t most);
  /// Numbers above 1e300 in size widen no range: they will be clipped.
  SeenValues seen() const;
  /// What Next scales by.
  void ScaleBy(Scale scale);

  /// What Next reads and scales from the next line on. Labels that are known stay known; samples
  /// that wait for theirs are forgotten. Throws Error if the header lacks a column.
  void Change(const SampleColumns& columns, const Scale& scale);

  /// The next sample; false at the end. A problem is returned even if an earlier process saw it.
  bool Next(FeedSample& sample);

  /// The labels and means that an earlier process knew. Call it before Next.
  void Remember(const InputPosition& before) { inputs_.Remember(before); }
  /// As many of the last labels as lags need, the newest last, and the means, if inputs are
  /// imputed.
  void Keep(InputPosition& position) const { inputs_.Keep(position); }

  /// What was predicted for a sample; it comes back with a label that comes late.
  void Tell(const std::string& id, ToldPrediction told) { waiting_.Tell(id, std::move(told)); }

  FeedCounts counts() const;

  /// "samples.csv, line 7: ": the beginning of a message about this line.
  std::string Place(const InputPosition& read) const;

 private:
  bool NextLine(InputSample& line, FeedSample& sample);
  void TakeSample(const InputSample& line, FeedSample& sample);
  bool WentBack(Seconds time);
  void TakeLabel(const InputSample& line, FeedSample& sample);
  void TakeTarget(double y, FeedSample& sample);

  const std::string what_;
  std::size_t ahead_;  // steps
  SampleReader reader_;
  Scale scale_;  // of labels
  SampleInputs inputs_;
  std::deque<InputSample> collected_;  // before the scale was known, and not yet returned
  SeenValues seen_;
  std::uint64_t dropped_ = 0;  // of those collected
  WaitingSamples waiting_;
  std::uint64_t learnt_lines_ = 0;  // of the input, by an earlier process
  std::uint64_t samples_ = 0;
  std::uint64_t clipped_ = 0;
  std::uint64_t clipped_labels_ = 0;
  bool timed_;
  std::optional<Seconds> last_time_;
  std::uint64_t went_back_ = 0;
};

}  // namespace polykern
