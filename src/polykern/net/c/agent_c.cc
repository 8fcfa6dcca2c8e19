#include "polykern/agent_c.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "polykern/core/error.h"
#include "polykern/data/agreed_scale.h"
#include "polykern/data/samples/agreed_columns.h"
#include "polykern/data/samples/sample_inputs.h"
#include "polykern/net/agent/agent.h"

namespace polykern {
namespace {

/// What is thrown here to be returned.
class Returned : public Error {
 public:
  Returned(polykern_result what_for, const std::string& text) : Error(text), result(what_for) {}
  polykern_result result;
};

std::string& ErrorText() {
  thread_local std::string text;
  return text;
}

/// Does the job; what it throws becomes a result and a text.
template <typename Job>
polykern_result Guarded(const Job& job) noexcept {
  try {
    try {
      ErrorText().clear();
      job();
      return POLYKERN_OK;
    } catch (const Returned& returned) {
      ErrorText() = returned.what();
      return returned.result;
    } catch (const UnusableSample& error) {
      ErrorText() = error.what();
      return POLYKERN_BAD_SAMPLE;
    } catch (const Error& error) {
      ErrorText() = error.what();
      return POLYKERN_REFUSED;
    } catch (const std::bad_alloc&) {
      ErrorText() = "out of memory; end other programs, or give this one more";
      return POLYKERN_FAILED;
    } catch (const std::exception& error) {
      ErrorText() =
          std::string("this should not happen; please report what was done (") + error.what() + ")";
      return POLYKERN_FAILED;
    }
  } catch (...) {  // there is no memory for a text
    return POLYKERN_FAILED;
  }
}

std::chrono::milliseconds TimeOf(double seconds) {
  constexpr double kLongest = 1e9;
  return std::chrono::milliseconds(
      static_cast<std::int64_t>(1000 * (seconds > 0 ? std::min(seconds, kLongest) : 0)));
}

void CheckThat(bool good, const char* rule) {
  if (!good) throw Returned(POLYKERN_WRONG_CALL, rule);
}

AgentOptions OptionsOf(const polykern_agent_options& given) {
  const auto text = [](const char* value) { return std::string(value == nullptr ? "" : value); };
  AgentOptions options;
  if (given.server != nullptr) options.link.server = given.server;
  options.link.certificates = text(given.certificates);
  options.link.insecure = given.certificates == nullptr;
  options.link.name = text(given.name);
  options.state = text(given.state);
  return options;
}

/// How samples are made of a program's numbers.
struct Samples {
  explicit Samples(const FederationConfiguration& federation)
      : columns(AgreedColumns(federation, "", "")),
        scale(AgreedScale(federation)),
        inputs(columns, scale) {}

  SampleColumns columns;
  Scale scale;
  SampleInputs inputs;
};

/// Throws unless numbers alone are asked for.
void CheckSuits(const FederationConfiguration& federation) {
  const char* const what = federation.learn_ranges > 0 || !federation.text_columns().empty()
                               ? "texts, or ranges that are learnt first"
                           : !federation.time.empty()     ? "the times of samples"
                           : federation.problem.ahead > 1 ? "predictions several steps ahead"
                                                          : nullptr;
  if (what == nullptr) return;
  throw Error(std::string("the federation asks for ") + what + "; use polykern-agent");
}

}  // namespace
}  // namespace polykern

struct polykern_agent {
  explicit polykern_agent(const polykern::AgentOptions& options) : agent(options) {}

  /// Returns when there is a model, or throws.
  void WaitForModel(std::chrono::milliseconds time) {
    try {
      agent.WaitForStep(time);
      if (agent.status().superseded) {  // samples are judged by the new federation from here on
        agent.Move();
        samples.reset();
        agent.WaitForStep(time);
      }
    } catch (const polykern::Error&) {
      if (!agent.status().ready) throw;  // else it predicts with the newest one
    }
    if (samples) return;
    if (const auto learning = agent.learning_ranges()) polykern::CheckSuits(*learning);
    const polykern::AgentStatus status = agent.status();
    if (!status.ready) {
      throw polykern::Returned(POLYKERN_NO_MODEL, status.trouble.empty()
                                                      ? "the server has not answered yet"
                                                      : status.trouble);
    }
    const polykern::FederationConfiguration federation = agent.configuration();
    polykern::CheckSuits(federation);
    samples.emplace(federation);
    samples->inputs.Remember(agent.position());
  }

  std::vector<float> Make(std::span<const double> own) {
    const std::size_t dimension = samples->columns.dimension;
    if (own.size() != dimension) {
      throw polykern::UnusableSample("a sample has " + std::to_string(dimension) + " inputs, not " +
                                     std::to_string(own.size()));
    }
    for (const double value : own) {
      if (std::isinf(value) || (std::isnan(value) && !samples->columns.impute)) {
        throw polykern::UnusableSample("an input is not a finite number");
      }
    }
    std::vector<float> x;
    try {
      samples->inputs.Make(own, 0, x);
    } catch (const polykern::Error& error) {
      throw polykern::UnusableSample(error.marked());
    }
    return x;
  }

  void Learn(double label) {
    if (!std::isfinite(label)) throw polykern::UnusableSample("the label is not a finite number");
    const polykern::Scale& scale = samples->scale;
    polykern::SampleInputs after = samples->inputs;
    after.Know(label);
    polykern::InputPosition position = agent.position();
    after.Keep(position);
    const bool learnt = agent.Learn(scale.ScaleLabel(label), position, scale.ClipsLabel(label));
    samples->inputs = after;
    waits = false;
    if (learnt) return;
    const std::string why = agent.status().not_learnt;
    throw polykern::Returned(
        POLYKERN_NOT_LEARNT,
        why.empty() ? "the step was answered before; a label of each step counts" : why);
  }

  polykern::Agent agent;
  std::optional<polykern::Samples> samples;  // from the first model on
  bool waits = false;                        // a prediction for its label
};

polykern_result polykern_agent_open(const polykern_agent_options* options, polykern_agent** agent) {
  if (agent != nullptr) *agent = nullptr;
  return polykern::Guarded([&] {
    polykern::CheckThat(options != nullptr && agent != nullptr,
                        "options and agent must not be null");
    *agent = new polykern_agent(polykern::OptionsOf(*options));  // polykern_agent_close deletes it
  });
}

polykern_result polykern_agent_predict(polykern_agent* agent, const double* inputs, size_t count,
                                       double seconds, polykern_prediction* prediction) {
  return polykern::Guarded([&] {
    polykern::CheckThat(
        agent != nullptr && prediction != nullptr && (inputs != nullptr || count == 0),
        "agent, inputs and prediction must not be null");
    agent->waits = false;
    agent->WaitForModel(polykern::TimeOf(seconds));
    const polykern::AgentPrediction made = agent->agent.Predict(agent->Make({inputs, count}));
    *prediction = {agent->samples->scale.ToldLabel(made.value), made.step};
    agent->waits = true;
  });
}

polykern_result polykern_agent_learn(polykern_agent* agent, double label) {
  return polykern::Guarded([&] {
    polykern::CheckThat(agent != nullptr, "agent must not be null");
    polykern::CheckThat(agent->waits, "every label belongs to a prediction: predict first");
    agent->Learn(label);
  });
}

void polykern_agent_close(polykern_agent* agent, double seconds) {
  if (agent == nullptr) return;
  polykern::Guarded([&] {
    if (agent->samples) agent->agent.WaitUntilCounted(polykern::TimeOf(seconds));
  });
  delete agent;
}

const char* polykern_error_text(void) {
  return polykern::ErrorText().c_str();
}
