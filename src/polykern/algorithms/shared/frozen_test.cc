#include "polykern/algorithms/shared/frozen.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "polykern/algorithms/engine.h"
#include "polykern/algorithms/registry.h"
#include "polykern/core/random.h"

namespace polykern {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

AlgorithmOptions SmallOptions() {
  AlgorithmOptions options;
  options.kernels = 8;
  options.local_memory = 32;
  return options;
}

/// A client by itself, of local-rls, with or without what an earlier one has learnt.
class Single {
 public:
  explicit Single(std::unique_ptr<Algorithm> algorithm)
      : algorithm_(std::move(algorithm)),
        step_(algorithm_->NewCpuStep()),
        state_(algorithm_->state_size()) {
    algorithm_->Start(state_);
    states_ = {state_.data()};
  }

  double Predict(const std::vector<float>& x) {
    x_ = x;
    step_->Predict(broadcast_, {.clients = clients_, .x = x_, .state = states_});
    return step_->predictions()[0];
  }
  double Learn(const std::vector<float>& x, double y) {
    const double error = Predict(x) - y;
    step_->Learn(std::vector{y});
    return error * error;
  }
  const std::vector<double>& state() const { return state_; }

 private:
  std::unique_ptr<Algorithm> algorithm_;
  std::unique_ptr<CohortStep> step_;
  std::vector<double> state_;
  std::vector<double*> states_;
  std::vector<std::uint64_t> clients_ = {0};
  std::vector<float> x_;
  Broadcast broadcast_;
};

std::unique_ptr<Algorithm> Rls(std::size_t dimension) {
  return MakeAlgorithm("local-rls", SmallOptions(), {dimension, 10, 1});
}

double LawOf(float x) {
  return 0.5 + 0.3 * std::sin(3 * static_cast<double>(x));
}

std::vector<double> StateAfter(int samples) {
  Single before(Rls(1));
  Random random(3, Purpose::kTest);
  for (int t = 0; t < samples; ++t) {
    const auto x = static_cast<float>(2 * random.Uniform() - 1);
    before.Learn({x}, LawOf(x));
  }
  return before.state();
}

/// What was learnt of one input in [-1, 1], for samples of two, of which the second is that input
/// in a range twice as wide, and whose labels have one twice as wide.
FrozenModel Frozen(std::vector<double> state) {
  FrozenModel frozen;
  frozen.algorithm = Rls(1);
  frozen.start = std::move(state);
  frozen.inputs = {{1, {2, 0, -1, 1}}};
  frozen.to_label = {0.5, 0, 0, 1};
  frozen.from_label = {2, 0, 0, 1};
  return frozen;
}

TEST(AFrozenModel, IsWhatItsClientsBeginWith) {
  const std::vector<double> state = StateAfter(300);
  Single old(MakeAlgorithm("local-rls", SmallOptions(), {1, 10, 1}));
  Single now(NewWithFrozen(Rls(2), Frozen(state)));
  ASSERT_EQ(now.state().size(), 3 + Single(Rls(2)).state().size() + old.state().size());
  EXPECT_TRUE(std::ranges::equal(std::span(now.state()).last(state.size()), state));
  for (const float x : {-0.9F, -0.2F, 0.4F, 0.8F}) {
    EXPECT_NEAR(now.Predict({0.3F, x / 2}), LawOf(x) / 2, 0.02);
  }
  EXPECT_EQ(now.Predict({0, 0.7F}), now.Predict({0, 0.5F})) << "outside its range it is clipped";
}

TEST(AFrozenModel, HelpsUntilSomethingBetterIsLearnt) {
  // The new input matters: the old model alone is never good.
  const auto law = [](const std::vector<float>& x) {
    return LawOf(2 * x[1]) / 2 + 0.05 * static_cast<double>(x[0]);
  };
  const std::vector<double> state = StateAfter(300);
  Single now(NewWithFrozen(Rls(2), Frozen(state)));
  Single fresh(Rls(2));
  Random random(4, Purpose::kTest);
  std::array<double, 2> early{};
  std::array<double, 2> late{};
  for (int t = 0; t < 600; ++t) {
    const std::vector<float> x = {static_cast<float>(2 * random.Uniform() - 1),
                                  static_cast<float>(random.Uniform() - 0.5)};
    const std::array errors = {now.Learn(x, law(x)), fresh.Learn(x, law(x))};
    for (std::size_t i = 0; i < 2; ++i) {
      if (t < 10) early[i] += errors[i] / 10;
      if (t >= 500) late[i] += errors[i] / 100;
    }
  }
  EXPECT_LT(early[0], early[1] / 2);
  EXPECT_LT(late[0], 1.2 * late[1]) << "what it did not know at first is not held against it";
  EXPECT_LT(late[0], early[0] / 10);
}

TEST(AFrozenModel, ChangesNothingOfWhatIsSent) {
  AlgorithmOptions options;
  options.kernels = 4;
  options.features = 3;
  const Problem problem{2, 10, 1};
  const auto plain = MakeAlgorithm("pof-mkl", options, problem);
  const auto with =
      NewWithFrozen(MakeAlgorithm("pof-mkl", options, problem), Frozen(StateAfter(5)));
  EXPECT_EQ(with->shape().model_size(), plain->shape().model_size());
  EXPECT_EQ(with->experts(), plain->experts());
  EXPECT_EQ(with->kept_samples(), plain->kept_samples());
  Broadcast broadcast;
  broadcast.model.assign(plain->shape().model_size(), 0.1F);
  std::vector<double> own(plain->state_size());
  std::vector<double> state(with->state_size());
  with->Start(state);
  const auto own_step = plain->NewCpuStep();
  const auto step = with->NewCpuStep();
  const std::vector<float> x = {0.1F, -0.3F};
  const std::array<std::uint64_t, 1> clients = {5};
  for (int t = 0; t < 3; ++t) {
    const std::array<double*, 1> own_states = {own.data()};
    const std::array<double*, 1> states = {state.data()};
    own_step->Predict(broadcast, {.clients = clients, .x = x, .state = own_states});
    step->Predict(broadcast, {.clients = clients, .x = x, .state = states});
    const Updates sent = own_step->Learn(std::array{0.7});
    const Updates& also = step->Learn(std::array{0.7});
    EXPECT_EQ(also.blocks, sent.blocks);
    EXPECT_EQ(also.values, sent.values);
    EXPECT_TRUE(std::ranges::equal(step->kernel_losses(), own_step->kernel_losses()));
  }
  std::vector<double> weights(plain->experts());
  std::vector<double> same(plain->experts());
  ASSERT_TRUE(with->Weights(state, 3, weights));
  ASSERT_TRUE(plain->Weights(own, 3, same));
  EXPECT_EQ(weights, same);
}

TEST(Rescaling, ClipsUnlessThereIsNoEnd) {
  EXPECT_EQ((Rescaling{2, 1, -1, 1}(0.5)), 1);
  EXPECT_EQ((Rescaling{2, 1, -1, 1}(-0.25)), 0.5);
  EXPECT_EQ((Rescaling{2, 1, -kUnbounded, kUnbounded}(3)), 7);
}

}  // namespace
}  // namespace polykern
