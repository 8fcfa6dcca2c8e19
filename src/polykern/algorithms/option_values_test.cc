#include "polykern/algorithms/option_values.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "polykern/algorithms/engine.h"
#include "polykern/algorithms/options.h"
#include "polykern/algorithms/registry.h"
#include "polykern/algorithms/shared/twin_testing.h"
#include "polykern/core/error.h"
#include "polykern/core/kernels.h"

namespace polykern {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

/// A text that is another value of the option than its default, and in its range.
std::string Another(const OptionDeclaration& option) {
  if (option.key == "dictionary") return "matern32";
  if (option.key == "kernels_per_upload") return "2";
  if (option.key == "features") return "3";
  if (option.key == "budget") return "990";
  if (option.key == "kernels") return "4";
  if (option.key == "local_kernels") return "3";
  if (option.key == "server_memory") return "300";
  if (option.key == "local_memory") return "40";
  if (option.key == "weight_rate") return "50";
  if (option.key == "burst") return "3";
  if (option.key == "least_clients") return "2";
  if (option.key == "most_samples") return "2";
  if (option.key == "releases") return "3";
  if (option.key == "pending_memory") return "1";
  if (option.key == "experts") return "federated";
  const std::string now = OptionText(option, {});
  if (now == "no") return "yes";
  if (const auto choices = OptionChoices(option); !choices.empty()) {
    return choices.back();  // nobody's default
  }
  return "0.37";
}

/// Every number that a small federation sends, predicts and ends with.
std::vector<double> Trace(std::string_view name, const AlgorithmOptions& options) {
  const auto algorithm = MakeAlgorithm(name, options, {2, 30, 5});
  const auto server = algorithm->NewServer();
  twin::Openings openings(*algorithm);
  std::vector<std::unique_ptr<Inbox>> inboxes;
  inboxes.push_back(server->NewInbox());
  constexpr std::size_t kSenders = 3;
  std::vector<std::vector<double>> states(kSenders, std::vector<double>(algorithm->state_size()));
  std::vector<double*> pointers;
  for (auto& state : states) pointers.push_back(state.data());
  const std::vector<std::uint64_t> clients = {0, 1, 2};
  std::vector<double> trace;
  const auto cohort = algorithm->NewCpuStep();
  twin::History history;
  // Sums are sent once there are enough samples for them.
  const int steps = algorithm->shape().sums.empty() ? 12 : 100;
  for (int step = 0; step < steps; ++step) {
    std::vector<float> x;
    std::vector<double> y;
    for (std::size_t k = 0; k < kSenders; ++k) {
      x.push_back(static_cast<float>((step * 7 + static_cast<int>(k) * 3) % 10) / 10);
      x.push_back(static_cast<float>((step * 3 + static_cast<int>(k)) % 7) / 7);
      y.push_back(static_cast<double>(x[2 * k] * x[2 * k + 1] > 0.2F));
    }
    for (std::size_t k = 0; k < kSenders; ++k) {
      history.Add(k, std::span(x).subspan(2 * k, 2), y[k]);
    }
    const Samples samples{clients, x, pointers, {}, &history};
    cohort->Predict(server->broadcast(), samples);
    trace.insert(trace.end(), cohort->predictions().begin(), cohort->predictions().end());
    const Updates& updates = cohort->Learn(y);
    trace.insert(trace.end(), updates.values.begin(), updates.values.end());
    trace.insert(trace.end(), updates.losses.begin(), updates.losses.end());
    trace.insert(trace.end(), updates.integers.begin(), updates.integers.end());
    inboxes[0]->Add(updates);
    server->Commit(inboxes, kSenders);
    openings.Open(*server);
  }
  const auto& model = server->broadcast().model;
  trace.insert(trace.end(), model.begin(), model.end());
  for (const auto& state : states) trace.insert(trace.end(), state.begin(), state.end());
  return trace;
}

/// Small, and with everything that makes other options count.
AlgorithmOptions Base(std::string_view user, std::string_view option) {
  AlgorithmOptions options;
  options.kernels = 6;
  if (option != "budget") options.features = 4;
  if (option == "local_memory" && user == "local-rls") options.features.reset();
  if (option == "budget") options.budget = 500;  // so that features or layers depend on it
  if (option == "exploration") options.kernels_per_upload = 2;
  if (option == "huber_delta") options.loss = LossKind::kHuber;
  if (option == "delta" || option == "releases") options.epsilon = 1;
  if (option != "disclosure") options.disclosure = 50;  // so that turns come quickly
  if (option == "weight_rate" && !TraitsOf(user).any_loss) options.weighting = Weighting::kHedge;
  return options;
}

TEST(DeclaredOptions, HaveKeysOfTheirOwnAndTextsThatComeBack) {
  std::set<std::string_view> keys;
  std::set<char> letters;
  AlgorithmOptions options = AbsentOptions();
  for (const OptionDeclaration& option : kAlgorithmOptions) {
    EXPECT_TRUE(keys.insert(option.key).second) << option.key;
    EXPECT_TRUE(option.letter == 0 || letters.insert(option.letter).second) << option.key;
    EXPECT_EQ(FindOption(option.key), &option);
    EXPECT_EQ(OptionText(option, options), option.absent) << option.key;
    EXPECT_FALSE(option.help.empty()) << option.key;
    EXPECT_NE(Another(option), OptionText(option, {})) << option.key;
    SetOption(option, Another(option), options);
    EXPECT_EQ(OptionText(option, options), Another(option));
    EXPECT_NO_THROW(CheckRange(option, options)) << option.key;
  }
  EXPECT_EQ(FindOption("hue"), nullptr);
  EXPECT_EQ(FindOption(""), nullptr);
}

TEST(DeclaredOptions, MayHaveANameForZero) {
  const OptionDeclaration& forgetting = *FindOption("forgetting");
  AlgorithmOptions options;
  EXPECT_EQ(OptionText(forgetting, options), "1");
  SetOption(forgetting, "auto", options);
  EXPECT_EQ(options.forgetting, kAutoForgetting);
  EXPECT_EQ(OptionText(forgetting, options), "auto");
  EXPECT_NO_THROW(CheckRange(forgetting, options));
  options.forgetting = 1.5;
  EXPECT_THAT([&] { CheckRange(forgetting, options); },
              ThrowsMessage<Error>(HasSubstr("is 1.5; it must lie in (0, 1], or be auto")));
  for (const OptionDeclaration& option : kAlgorithmOptions) {
    EXPECT_TRUE(option.zero.empty() ||
                (std::holds_alternative<double AlgorithmOptions::*>(option.field) &&
                 option.range.low == 0 && option.range.low_open))
        << option.key;
  }
}

TEST(DeclaredOptions, NameOnlyAlgorithmsThatExist) {
  for (const OptionDeclaration& option : kAlgorithmOptions) {
    std::istringstream users{std::string(option.users)};
    for (std::string name; users >> name;) EXPECT_NO_THROW(TraitsOf(name)) << option.key;
  }
}

// What an algorithm does not use is neither stored nor sent: so it must not change a bit.
TEST(DeclaredOptions, ChangeNothingInAlgorithmsThatAreNotTheirUsers) {
  for (const auto name : AlgorithmNames()) {
    for (const OptionDeclaration& option : kAlgorithmOptions) {
      if (UsesOption(name, option) || option.key == "loss") continue;  // loss: refused
      AlgorithmOptions options = Base(name, "");
      const auto before = Trace(name, options);
      SetOption(option, Another(option), options);
      EXPECT_EQ(Trace(name, options), before) << name << " " << option.key;
    }
  }
}

TEST(DeclaredOptions, ChangeSomethingInTheirUsers) {
  for (const auto name : AlgorithmNames()) {
    for (const OptionDeclaration& option : kAlgorithmOptions) {
      if (!UsesOption(name, option)) continue;
      if (option.key == "server_memory" || option.key == "masking") continue;  // change no bit
      AlgorithmOptions options = Base(name, option.key);
      const auto before = Trace(name, options);
      SetOption(option,
                option.key != "budget" ? Another(option)
                : name == "pof-gram"   ? "100"
                                       : "40",
                options);
      EXPECT_NE(Trace(name, options), before) << name << " " << option.key;
    }
  }
}

// Kept runs and older agents know the options of version 2; a new one must say that it is new.
TEST(DeclaredOptions, SayWhichVersionBroughtThem) {
  constexpr std::size_t kOfVersion2 = 27;
  EXPECT_EQ(std::ranges::count(kAlgorithmOptions, 2U, &OptionDeclaration::since),
            static_cast<std::ptrdiff_t>(kOfVersion2));
}

TEST(DeclaredOptions, AgreeWithTheTraitsOfTheirUsers) {
  for (const auto name : AlgorithmNames()) {
    const AlgorithmTraits& traits = TraitsOf(name);
    const auto uses = [&](const char* key) { return UsesOption(name, *FindOption(key)); };
    EXPECT_EQ(traits.chooses_kernels, uses("kernels_per_upload")) << name;
    EXPECT_EQ(traits.any_loss, uses("loss")) << name;
    EXPECT_EQ(traits.takes_bank, uses("features")) << name;
    EXPECT_EQ(traits.local_memory > 0, uses("local_memory")) << name;
  }
}

TEST(DeclaredOptions, ListEveryDictionary) {
  for (const auto name : DictionaryNames()) {
    EXPECT_THAT(std::string(FindOption("dictionary")->help), HasSubstr(std::string(name)));
  }
}

TEST(SetOption, RefusesATextOfAnotherTypeByTheOptionsNameAndChangesNothing) {
  AlgorithmOptions options;
  const auto expect = [&](const char* key, const char* text, const char* words) {
    const OptionDeclaration& option = *FindOption(key);
    const std::string before = OptionText(option, options);
    EXPECT_THAT([&] { SetOption(option, text, options); },
                ThrowsMessage<Error>(HasSubstr(std::string(key) + ": '" + text + "' " + words)));
    EXPECT_EQ(OptionText(option, options), before);
  };
  expect("kernels", "-1", "is not a whole number");
  expect("kernels", "7 ", "is not a whole number");
  expect("kernels", "", "is not a whole number");
  expect("features", "x", "is not a whole number of at least 1");
  expect("forgetting", "0", "is neither auto nor a number above 0");
  expect("forgetting", "-0.0", "is neither auto nor a number above 0");
  expect("forgetting", "Auto", "is neither auto nor a number above 0");
  expect("forgetting", "", "is neither auto nor a number above 0");
  expect("ridge", "1,5", "is not a number, but a list");
  expect("learning_rate", "fast", "is not a number");
  expect("orthogonal", "maybe", "is neither yes nor no");
  expect("loss", "hinge", "is not known; there are: squared, huber, logistic");
  expect("experts", "local", "is not known; there are: federated, federated,local, ");
}

TEST(OptionComplaint, JudgesWholeNumbersByTheirLeastAsWell) {
  EXPECT_EQ(OptionComplaint(*FindOption("features"), "0"),
            "'0' is not a whole number of at least 1");
  EXPECT_EQ(OptionComplaint(*FindOption("features"), "1"), "");
  EXPECT_EQ(OptionComplaint(*FindOption("ridge"), "0"), "");  // which CheckRange refuses
}

TEST(CheckRange, NamesTheOptionItsValueAndTheRule) {
  AlgorithmOptions options;
  options.ridge = std::nan("");
  EXPECT_THAT([&] { CheckRange(*FindOption("ridge"), options); },
              ThrowsMessage<Error>(HasSubstr("ridge is nan; it must be above 0")));
  options.refresh = 1;
  EXPECT_THAT([&] { CheckRange(*FindOption("refresh"), options); },
              ThrowsMessage<Error>(HasSubstr("refresh is 1; it must lie in [0, 1)")));
  options.features = 0;
  EXPECT_THAT([&] { CheckRange(*FindOption("features"), options); },
              ThrowsMessage<Error>(HasSubstr("features is 0; it must be at least 1")));
}

}  // namespace
}  // namespace polykern
