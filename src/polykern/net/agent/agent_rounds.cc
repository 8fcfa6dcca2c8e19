#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <numeric>
#include <utility>
#include <variant>

#include "polykern/algorithms/engine.h"
#include "polykern/net/agent/agent_rounds_internal.h"
#include "polykern/net/agent/frozen_expert.h"
#include "polykern/net/configuration_texts.h"

namespace polykern {
namespace {

std::string EncodeAnswer(const Updates& updates, std::uint64_t clipped) {
  if (clipped == 0) return Encode(updates);
  Updates sent = updates;
  sent.clipped = {clipped};
  return Encode(sent);
}

/// The sample is good, and cannot be learnt from all the same.
class NotLearnt : public Error {
 public:
  using Error::Error;
};

/// Without a state on the disk an update might count twice.
void KeepState(const AgentRounds::Keep& keep, const AgentState& state) {
  try {
    keep(state);
  } catch (const Error& error) {
    throw NotLearnt(error.what());
  }
}

void KeepInterval(const std::optional<IntervalTracker>& interval, AgentState& state) {
  if (!interval) return;
  state.interval = interval->Save();
}

}  // namespace

AgentRounds::Learner::Learner(const FederationConfiguration& what, std::uint64_t client)
    : configuration(what),
      algorithm(MakeClientAlgorithm(what)),
      clients(*algorithm, client, 1),
      buffer(what.problem.dimension, algorithm->kept_samples()),
      round(*algorithm, CpuEngine(), masks),
      score(1, algorithm->experts()),
      keeps_samples(algorithm->kept_samples() > 0),
      noisy(keeps_samples && what.options.epsilon > 0) {
  round.ReadFrom(buffer);
}

AgentRounds::AgentRounds(AgentState saved, const std::string& what) {
  learner_.emplace(FromTexts(saved.configuration), saved.client);
  learner_->clients.Load(saved.private_state);
  const LearntSamples& samples = saved.samples;
  if (samples.x.size() != samples.y.size() * learner_->configuration.problem.dimension) {
    throw Error(what + ": damaged; remove it to start over");
  }
  learner_->buffer.Load(saved.first_sample, samples);
  const ServerMessage model = DecodeServerMessage(saved.model);
  const auto* change = std::get_if<ModelChange>(&model);
  if (change == nullptr) throw Error(what + ": damaged; remove it to start over");
  state_ = std::move(saved);
  Apply(*change);
}

void AgentRounds::Cover(double coverage) {
  CheckCoverage(coverage);
  coverage_ = coverage;
  if (learner_) BeginInterval();
}

void AgentRounds::BeginInterval() {
  const std::size_t inputs = learner_->configuration.problem.dimension;
  interval_.emplace(*coverage_, inputs);
  if (state_.interval.empty()) return;
  const auto kept = IntervalTracker::Load(state_.interval, inputs);
  if (kept.coverage() == *coverage_) interval_ = kept;
}

std::string AgentRounds::Tell(const ClientRanges& ranges) {
  if (!learning_ || !ranges_.empty()) return {};
  ranges_ = Encode(ranges);
  return server_has_ranges_ ? "" : ranges_;
}

void AgentRounds::Take(const ModelChange& change) {
  if (!learner_) throw Error("received a model before the ranges were known");
  Apply(change);
  counted_ = std::max(counted_, change.counted);
}

std::string AgentRounds::Take(const Verdict& verdict) {
  if (learning_) return "the server rejected this agent's ranges: " + verdict.reason;
  uncounted_ = std::max(uncounted_, verdict.step + 1);  // or it never will be counted
  if (verdict.accepted) {
    counted_ = std::max(counted_, verdict.step + 1);
    return {};
  }
  ++rejected_;
  return "the server rejected the update of step " + std::to_string(verdict.step) + ": " +
         verdict.reason;
}

void AgentRounds::Apply(const ModelChange& change) {
  // A copy: a prediction may be waiting for its label with the old one.
  auto next = std::make_shared<Broadcast>(model_ != nullptr ? *model_ : Broadcast());
  const std::uint64_t known = next->releases;
  ApplyModel(learner_->algorithm->shape(), change, *next);
  // Its messages tell the helper of the most releases that it has ever heard of in this epoch, also
  // if the server has gone back to an older copy: so must the helper have, if it has not noticed.
  if (learner_->configuration.options.masking == Masking::kHelper) {
    next->releases = std::max(next->releases, known);
  }
  model_ = std::move(next);
  finished_ = change.finished;
}

/// A step is answered once, and not before it is known how to mask the answer; and where late
/// updates count, the last one must be on the server's disk: so each of them is, even if either
/// side is killed.
bool AgentRounds::MayAnswer(const Broadcast& model) const {
  const bool masked = learner_->configuration.options.masking != Masking::kNone;
  return model.step >= state_.next_step && (!uses_late_ || uncounted_ >= state_.next_step) &&
         (!masked || learner_->masks.ready());
}

AgentPrediction AgentRounds::Predict(std::span<const float> x) {
  assert(has_model());
  const std::size_t dimension = learner_->configuration.problem.dimension;
  if (x.size() != dimension) {
    throw Error("a sample has " + std::to_string(x.size()) + " inputs, the federation works with " +
                std::to_string(dimension));
  }
  predicted_ = model_;  // Learn needs the same one, whatever comes meanwhile
  x_.assign(x.begin(), x.end());
  PredictAgain();
  return PredictionNow();
}

void AgentRounds::PredictAgain() {
  learner_->round.Predict(*predicted_, learner_->clients, 0, x_, std::array<std::uint8_t, 1>{1});
}

/// The last one, as it would be told now.
AgentPrediction AgentRounds::PredictionNow() const {
  const double value = learner_->algorithm->loss().Predicted(learner_->round.predictions()[0]);
  return {value, predicted_->step,
          interval_ ? interval_->Around(value, x_) : std::optional<Interval>()};
}

std::optional<IntervalTracker> AgentRounds::IntervalAfter(
    double y, const std::optional<AgentPrediction>& told) const {
  auto after = interval_;
  if (!after) return after;
  const AgentPrediction said = told ? *told : PredictionNow();
  after->Take(y, said.value, x_, said.interval);
  return after;
}

AgentRounds::Learnt AgentRounds::Learn(double y, const InputPosition& position, const Keep& keep,
                                       bool clipped, const std::optional<AgentPrediction>& told) {
  assert(predicted_ != nullptr);
  auto interval = IntervalAfter(y, told);
  bool answers = !finished_ && MayAnswer(*predicted_);
  if (!answers && (finished_ || !learner_->keeps_samples)) {
    predicted_.reset();
    interval_ = interval;
    ++unlearnt_;
    return {};
  }
  const double f = learner_->round.predictions()[0];
  const std::vector<double> before = learner_->clients.Save();
  SampleBuffer& buffer = learner_->buffer;
  if (learner_->keeps_samples) buffer.Add(x_, y);
  try {
    const Updates& updates = LearnNow(y, answers, before);
    CheckLearnt(updates, answers, y);
    if (answers) {
      AgentState next = StateNow();
      KeepInterval(interval, next);
      next.next_step = updates.step + 1;
      next.position = position;
      const std::uint64_t told_clipped = clipped_ + (clipped ? 1 : 0) - clipped_sent_;
      next.update = EncodeAnswer(updates, learner_->noisy ? 0 : told_clipped);
      if (keep) {
        next.model = EncodeModel(*predicted_);
        KeepState(keep, next);
      }
      state_ = std::move(next);
    } else {
      state_.position.labels = position.labels;  // the line counts when the sample is sent
      state_.position.means = position.means;
      state_.position.ahead = position.ahead;
    }
  } catch (const NotLearnt& why) {
    learner_->clients.Load(before);
    if (learner_->keeps_samples) buffer.RemoveLast();
    not_learnt_ = why.what();
    predicted_.reset();
    ++unlearnt_;
    return {};
  } catch (const Error&) {  // as if Learn had not been called: it may be called again
    learner_->clients.Load(before);
    if (learner_->keeps_samples) buffer.RemoveLast();
    PredictAgain();
    throw;
  }
  not_learnt_.clear();
  interval_ = interval;
  buffer.Trim();
  unkept_ = !answers;
  predicted_.reset();
  ++learnt_;
  clipped_ += clipped ? 1 : 0;
  if (answers) clipped_sent_ = clipped_;
  Score(f, y);
  return {true, answers ? state_.update : ""};
}

/// Without an answer if that would give too much away: then it waits for more samples.
const Updates& AgentRounds::LearnNow(double y, bool& answers, std::span<const double> before) {
  try {
    return learner_->round.Learn(std::array{y}, AnsweringNow(answers));
  } catch (const TooFewSamples&) {
    learner_->clients.Load(before);
    PredictAgain();
    answers = false;
    return learner_->round.Learn(std::array{y}, AnsweringNow(answers));
  }
}

/// With pairwise masks everything counts that was sent, and is not sent again.
Answering AgentRounds::AnsweringNow(bool answers) const {
  return {.answers = answers, .last_counted = in_pairs() || counted_ >= state_.next_step};
}

/// But for the step, the position, the update and the model.
AgentState AgentRounds::StateNow() const {
  AgentState now = state_;
  now.private_state = learner_->clients.Save();
  now.first_sample = learner_->buffer.first();
  now.samples = learner_->buffer.Save();
  KeepInterval(interval_, now);
  return now;
}

std::optional<AgentState> AgentRounds::Unkept() const {
  if (!unkept_) return {};
  return StateNow();
}

/// What the server would not take is not sent, nor is the state that it left behind kept. It is
/// the model's fault if that predicts what is further from 0 than the label.
void AgentRounds::CheckLearnt(const Updates& updates, bool answers, double y) const {
  try {
    if (answers) {
      CheckUpdates(learner_->algorithm->shape(), updates);
      learner_->algorithm->CheckContents(updates, *predicted_);
    }
    const auto finite = [](double value) { return std::isfinite(value); };
    if (!std::ranges::all_of(learner_->clients.Save(), finite)) throw Error("weights overflow");
  } catch (const Error& error) {
    double furthest = std::abs(learner_->round.predictions()[0]);
    for (const float f : learner_->round.KernelPredictions(0)) {
      furthest = std::max(furthest, std::abs(static_cast<double>(f)));
    }
    if (!std::isfinite(furthest) || furthest > std::abs(y)) {
      throw NotLearnt("the model of step " + std::to_string(predicted_->step) + " predicts up to " +
                      std::to_string(furthest) +
                      ", from which nothing can be learnt: " + error.marked());
    }
    throw UnusableSample(std::string("its label cannot be learnt from: ") + error.marked());
  }
}

std::string AgentRounds::EncodeModel(const Broadcast& model) const {
  const ModelShape& shape = learner_->algorithm->shape();
  std::vector<std::uint32_t> all(shape.blocks);
  std::iota(all.begin(), all.end(), 0U);
  return Encode(TakeBlocks(shape, model, std::move(all)));
}

void AgentRounds::Score(double f, double y) {
  const Loss& loss = learner_->algorithm->loss();
  const double error = loss.Predicted(f) - y;
  Scoreboard& score = learner_->score;
  score.Record(0, error * error, loss.Value(f, y), learner_->round.KernelLosses(0));
  const auto steps = static_cast<double>(score.Steps(0));
  learner_->naive.Take(y, learner_->configuration.problem.ahead);
  report_ = {score.Steps(0), score.SquaredError(0) / steps,
             learner_->algorithm->experts() > 0 ? score.Regret(0) : 0, learner_->naive.best()};
}

AgentStatus AgentRounds::status() const {
  AgentStatus status;
  status.ready = has_model();
  status.learn_ranges = learning_ ? learning_->learn_ranges : 0;
  status.finished = finished_;
  status.step = has_model() ? model_->step : 0;
  status.client = state_.client;
  status.learnt = learnt_;
  status.unlearnt = unlearnt_;
  status.clipped = clipped_;
  status.not_learnt = not_learnt_;
  status.rejected = rejected_;
  status.report = report_;
  return status;
}

}  // namespace polykern
