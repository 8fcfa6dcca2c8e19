#include "federation/join_session.h"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <utility>

#include "polykern/core/error.h"
#include "polykern/core/text.h"
#include "polykern/data/agreed_scale.h"
#include "polykern/data/samples/agreed_columns.h"
#include "polykern/data/samples/input_stream.h"
#include "polykern/io/files.h"
#include "polykern/net/pki/certificates.h"
#include "polykern/results/text_table.h"

namespace polykern {
namespace {

void Tell(const std::string& line) {
  // In one piece: several agents may share a terminal.
  if (line.empty()) return;
  std::cerr << "polykern: " + Printable(Error(line).Spelled(ShellSpelling)) + "\n" << std::flush;
}

std::string UnlearntText(std::uint64_t labels) {
  return Count(labels, "label") +
         " not learnt from, because a step takes only one; with --wait each sample waits for a "
         "step";
}

/// What systemd shows.
std::string ServiceStatus(const AgentStatus& status) {
  const std::string step = "at step " + std::to_string(status.step);
  return status.connected         ? step + ", " + Count(status.learnt, "label") + " learnt"
         : status.trouble.empty() ? "connecting"
                                  : step + "; " + Error(status.trouble).Spelled(ShellSpelling);
}

bool NeedsName(const JoinOptions& options) {
  return !options.output.predictions.empty() || IsMqtt(options.output.output);
}

}  // namespace

std::string NameOf(const JoinOptions& options) {
  const LinkOptions& link = options.agent.link;
  if (link.insecure) return link.name;
  const std::string certificate = link.certificates + "/client.crt";
  return ReadCertificate(ReadWholeFile(certificate), certificate).name;
}

JoinSession::JoinSession(const JoinOptions& options)
    : options_(options),
      output_(options.output, NeedsName(options) ? NameOf(options) : options.agent.link.name),
      agent_(options.agent) {
  const InputKind kind = KindOf(options.input);
  wait_ = options.wait || (kind != InputKind::kStream && !options.no_wait);
  can_resume_ = kind == InputKind::kFile;
}

/// Returns when there is a model, or ranges are to be learnt.
void JoinSession::Meet() {
  const auto status = [this] { return ServiceStatus(agent_.status()); };
  service_.Ready(status());
  service_.WatchOver(status);
  WaitPatiently([&](auto time) {
    const auto met = [this] { return agent_.status().ready || agent_.learning_ranges(); };
    if (!met()) agent_.WaitForStep(time);
    return met();
  });
  const auto learning = agent_.learning_ranges();  // it may have become ready since
  federation_ = learning ? *learning : agent_.configuration();
  scale_ = AgreedScale(federation_);
}

SampleColumns JoinSession::Columns() const {
  SampleColumns columns = AgreedColumns(federation_, options_.target, options_.id);
  columns.delimiter = options_.delimiter;
  columns.decimal = options_.decimal;
  return columns;
}

void JoinSession::Run(std::istream& input, MqttInput* broker) {
  broker_ = broker;
  Meet();
  SampleFeed feed(input, InputName(options_.input), Columns(), scale_, options_.pending);
  bool broken = false;
  try {
    LearnRanges(feed);
    Read(feed);
  } catch (const BrokenInput& error) {
    broken = true;
    Tell(error.marked() + "; stopped learning");
  }
  WaitPatiently([&](auto time) { return agent_.WaitUntilCounted(time); });
  Summarize(feed.counts());
  if (broken) {
    throw Error(InputName(options_.input) +
                ": not read to its end; restart the agent when it can be read");
  }
}

/// Collects samples until the federation's ranges are known. Where samples wait for steps so do
/// their predictions; beside a stream none is awaited, and they are null.
void JoinSession::LearnRanges(SampleFeed& feed) {
  const std::size_t wanted = federation_.learn_ranges;
  if (wanted == 0) return;
  Tell("the federation's ranges are learnt first, from " + Count(wanted, "sample") +
       " of each client; predictions start when they are known");
  const std::size_t most = std::max(wanted, options_.pending);
  FeedSample sample;
  while (agent_.learning_ranges() &&
         (!wait_ || (feed.seen().labels < wanted && feed.seen().lines < most)) &&
         Await([&] { return feed.Collect(sample, most); })) {
    if (!wait_ && agent_.learning_ranges()) {  // else it is not too late for a real one
      if (sample.problem.empty() && !sample.late_label) Put(sample, {});
      without_model_ = sample.read.line;
    }
    if (feed.seen().labels >= wanted) TellRanges(feed);
  }
  TellRanges(feed);
  WaitPatiently([&](auto time) {
    if (!agent_.status().ready) agent_.WaitForStep(time);
    return agent_.status().ready;
  });
  federation_ = agent_.configuration();
  scale_ = AgreedScale(federation_);
  feed.ScaleBy(scale_);
  Tell("the ranges are known: the label's is " + ExactText(scale_.target.low) + ":" +
       ExactText(scale_.target.high));
}

/// Once; who has seen no value of some column has nothing to tell.
void JoinSession::TellRanges(const SampleFeed& feed) {
  ClientRanges ranges;
  for (const Range& range : feed.seen().ranges) {
    if (range.low > range.high) return;
    ranges.least.push_back(range.low);
    ranges.greatest.push_back(range.high);
  }
  agent_.TellRanges(ranges);
}

void JoinSession::Read(SampleFeed& feed) {
  Resume(feed);
  FeedSample sample;
  while (Await([&] { return feed.Next(sample); })) {
    TellNews(feed);
    try {
      if (!sample.problem.empty()) throw UnusableSample(sample.problem);
      Use(feed, sample);
    } catch (const UnusableSample& error) {
      if (options_.strict) throw;
      if (sample.seen_before) continue;
      ++bad_;
      Tell(bad_lines_.Next(error.marked(), std::chrono::steady_clock::now()));
    }
    if (agent_.status().superseded) MoveOn(feed);
  }
}

/// To the federation that the server has begun from this agent's.
void JoinSession::MoveOn(SampleFeed& feed) {
  Tell("the server has started a new federation from this one; moving there");
  agent_.Move();
  WaitPatiently([&](auto time) {
    if (!agent_.status().ready) agent_.WaitForStep(time);
    return agent_.status().ready;
  });
  federation_ = agent_.configuration();
  scale_ = AgreedScale(federation_);
  feed.Change(Columns(), scale_);
  forecasts_.reset();
  if (federation_.problem.ahead > 1) {
    forecasts_.emplace(federation_.problem.ahead, federation_.problem.dimension);
  }
}

/// Of the server, and of what is lost meanwhile.
void JoinSession::TellNews(const SampleFeed& feed) {
  const AgentStatus status = agent_.status();
  // Callers that wait for the server are told of its absence there; beside a stream nothing waits.
  if (!wait_ || status.connected) Tell(news_.Next(status));
  const auto now = std::chrono::steady_clock::now();
  const FeedCounts counts = feed.counts();
  // While the server is away that is expected.
  const bool drops = status.connected && !status.finished && status.not_learnt.empty();
  if (drops && unlearnt_.IsDue(status.unlearnt, now)) {
    Tell(UnlearntText(status.unlearnt));
  }
  if (forgotten_.IsDue(counts.forgotten, now)) {
    Tell(Count(counts.forgotten, "sample") +
         " forgotten before a label came; --pending says how many may wait");
  }
  // Of the first it was told where it is.
  if (counts.clipped_labels > 1 && clipped_.IsDue(counts.clipped_labels, now)) {
    Tell(Count(counts.clipped_labels, "label") + " outside the target range and clipped so far");
  }
  if (counts.went_back > 1 && went_back_.IsDue(counts.went_back, now)) {
    Tell(Count(counts.went_back, "time") + " not after the one before so far");
  }
}

/// Of a file that begins with what an earlier process has learnt, that is not learnt again.
void JoinSession::Resume(SampleFeed& feed) {
  const InputPosition before = agent_.position();
  if (federation_.problem.ahead > 1) {
    forecasts_.emplace(federation_.problem.ahead, federation_.problem.dimension);
    forecasts_->Load(before.ahead);
  }
  const bool resumes = can_resume_ && before.line > 0 && Await([&] { return feed.Resume(before); });
  if (broker_ != nullptr) broker_->Resume(before);
  if (!resumes) feed.Remember(before);  // else the lines that are passed over have them
  if (!can_resume_ || before.line == 0) return;
  Tell(InputName(options_.input) + (resumes ? ": lines 1 to " + std::to_string(before.line) +
                                                  " were learnt before and are skipped"
                                            : ": does not begin with the samples that were learnt "
                                              "last; reading it from its first line"));
}

void JoinSession::Use(SampleFeed& feed, const FeedSample& sample) {
  if (sample.went_back && feed.counts().went_back == 1) {
    Tell(feed.Place(sample.read) + "its time, " + TimeText(sample.time) +
         ", is not later than that of the line before; samples are taken as they come");
  }
  // What was collected came at once: without a step for each it would not be learnt.
  if (wait_ || sample.collected) {
    WaitPatiently([&](auto time) { return agent_.WaitForStep(time); });
  }
  // Also for a label that came late: what can be learnt from is a prediction by the model of now.
  const AgentPrediction prediction = agent_.Predict(sample.x);
  std::optional<ToldPrediction> told =
      sample.late_label ? sample.told : TellPrediction(feed, sample, prediction);
  if (forecasts_) {  // the label is that of an earlier prediction, which is made again to learn
    const auto due = forecasts_->Add({sample.x, told});
    if (!due) return;
    const std::uint64_t step = agent_.Predict(due->x).step;
    told = due->told;
    told->time = TimeOf(sample, step);
  }
  if (sample.y) Learn(feed, sample, told);
}

/// That of the data, or the step counted from 1.
std::string JoinSession::TimeOf(const FeedSample& sample, std::uint64_t step) const {
  return federation_.time.empty() ? std::to_string(step + 1) : TimeText(sample.time);
}

/// A broker of predictions that is away is waited for.
void JoinSession::Put(const FeedSample& sample, const std::optional<AgentPrediction>& prediction) {
  if (IsMqtt(options_.output.output)) service_.Rest();
  output_.Predicted(sample.id, prediction, scale_);
  service_.Work();
}

ToldPrediction JoinSession::TellPrediction(SampleFeed& feed, const FeedSample& sample,
                                           const AgentPrediction& prediction) {
  if (sample.read.line > without_model_) Put(sample, prediction);
  const ToldPrediction told{prediction.value, prediction.interval, TimeOf(sample, prediction.step)};
  if (!sample.y) feed.Tell(sample.id, told);
  return told;
}

void JoinSession::Learn(const SampleFeed& feed, const FeedSample& sample,
                        const std::optional<ToldPrediction>& told) {
  if (sample.clipped_label && feed.counts().clipped_labels == 1) {
    Tell(feed.Place(sample.read) + "the label is outside the federation's target range, " +
         ExactText(scale_.target.low) + ":" + ExactText(scale_.target.high) +
         ", and is clipped, as others will be");
  }
  // A stream's lines do not come again, but those of a file may that was learnt before it.
  InputPosition position = can_resume_ ? sample.read : agent_.position();
  if (broker_ != nullptr) broker_->Mark(position);
  feed.Keep(position);
  if (forecasts_) position.ahead = forecasts_->Save();
  try {
    std::optional<AgentPrediction> said;
    if (told) said = {told->value, 0, told->interval};
    const bool learnt = agent_.Learn(*sample.y, position, sample.clipped_label, said);
    learnt_ += learnt ? 1 : 0;
    TellOfLearning(learnt);
  } catch (const UnusableSample& error) {
    throw UnusableSample(feed.Place(sample.read) + error.marked());
  }
  if (told) output_.Labelled(*told, *sample.y, scale_);
}

/// Once, while valid labels cannot be learnt from: the line is not bad.
void JoinSession::TellOfLearning(bool learnt) {
  const std::string why = learnt ? "" : agent_.status().not_learnt;
  if (learnt || !why.empty()) {
    const bool told = std::exchange(learns_, learnt) == learnt;
    if (!told) Tell(learnt ? "it learns again" : why + "; predicting without learning until then");
  }
}

/// What `next` returns, which reads the input and may wait for ever.
bool JoinSession::Await(const std::function<bool()>& next) {
  service_.Rest();
  const bool more = next();
  service_.Work();
  return more;
}

/// Waits with `wait(time)` until it gives true, however long, and says why it takes so long.
void JoinSession::WaitPatiently(const std::function<bool(std::chrono::milliseconds)>& wait) {
  using Clock = std::chrono::steady_clock;
  Patience patience(options_.give_up, Clock::now());
  while (!wait(std::chrono::milliseconds(200))) {
    service_.Work();
    for (const std::string& line : patience.Next(agent_.status(), Clock::now())) Tell(line);
  }
}

void JoinSession::Summarize(const FeedCounts& counts) const {
  Tell(Count(counts.samples, "sample") + ", " + std::to_string(learnt_) + " learnt; " +
       Count(bad_, "bad line") + ", " + Count(counts.clipped, "value") + " clipped" +
       (counts.clipped_labels > 0 ? " (" + Count(counts.clipped_labels, "label") + ")" : "") +
       (counts.went_back > 0 ? ", " + Count(counts.went_back, "time") + " not after the one before"
                             : "") +
       "; " + std::to_string(counts.waiting) + " still without a label, " +
       std::to_string(counts.forgotten) + " forgotten");
  const AgentStatus status = agent_.status();
  if (status.unlearnt > 0 && !status.finished && status.not_learnt.empty()) {
    Tell(UnlearntText(status.unlearnt));
  }
}

}  // namespace polykern
