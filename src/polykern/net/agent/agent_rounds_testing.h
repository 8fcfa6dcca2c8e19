// For tests of an agent's rounds.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>

#include <gtest/gtest.h>

#include "polykern/net/agent/agent_rounds_internal.h"
#include "polykern/net/configuration_texts.h"
#include "polykern/net/wire.h"

namespace polykern {

inline constexpr std::array<float, 3> kX = {0.1F, -0.2F, 0.3F};

/// A server's messages, made by hand, and an agent that gets them.
class AgentRoundsTest : public testing::Test {
 protected:
  AgentRoundsTest() {
    configuration.options.kernels = 4;
    configuration.options.features = 2;
    configuration.options.kernels_per_upload = 2;
    configuration.problem = {3, 100, 1};
    algorithm = MakeAlgorithm(configuration);
  }

  /// A model with a number in it that only this step has.
  Broadcast ModelOf(std::uint64_t step) const {
    Broadcast model;
    model.step = step;
    model.model.assign(algorithm->shape().model_size(), 0.01F * static_cast<float>(step));
    return model;
  }
  ModelChange Change(std::uint64_t step, bool finished = false) const {
    ModelChange change = TakeBlocks(algorithm->shape(), ModelOf(step), {0, 1, 2, 3});
    change.finished = finished;
    return change;
  }
  Welcome WelcomeAt(std::uint64_t step, std::uint64_t answered = 0, bool uses_late = false) const {
    return {.client = 7,
            .configuration = ToTexts(configuration),
            .model = Change(step),
            .answered = answered,
            .uses_late = uses_late};
  }
  /// Predicts and learns; the update that would be sent.
  static std::string Answer(AgentRounds& rounds, double y = 0.5) {
    rounds.Predict(kX);
    const auto [learnt, update] = rounds.Learn(y, {}, {});
    EXPECT_TRUE(learnt);
    return update;
  }
  static std::uint64_t StepOf(const std::string& update) {
    return std::get<Updates>(DecodeClientMessage(update)).step;
  }

  FederationConfiguration configuration;
  std::unique_ptr<Algorithm> algorithm;
};

}  // namespace polykern
