#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <istream>
#include <string>

#include "federation/join_output.h"
#include "polykern/data/mqtt/mqtt_input.h"
#include "polykern/data/samples/forecasts.h"
#include "polykern/data/samples/sample_feed.h"
#include "polykern/data/scaling.h"
#include "polykern/net/agent/agent.h"
#include "polykern/net/agent/agent_news.h"
#include "polykern/net/configuration.h"
#include "service.h"

namespace polykern {

/// Everything `polykern join` can be told.
struct JoinOptions {
  AgentOptions agent = {};
  JoinOutputOptions output = {};
  std::string input = "-";
  std::string target = {};       ///< column of the label; empty: the federation's, or y
  std::string id = "id";         ///< column that names a sample
  char delimiter = 0;            ///< of CSV, see SampleColumns
  char decimal = '.';            ///< likewise
  bool strict = false;           ///< stops at a bad line
  std::size_t pending = 10'000;  ///< predictions that may wait for their labels
  bool wait = false;             ///< every sample waits for a step of its own
  bool no_wait = false;          ///< not even those of a file
  double give_up = 0;            ///< seconds without a connection; 0: never
  double ask_again = 60;         ///< seconds after a refusal
  std::string renew = {};        ///< server that renews its certificate; empty: none
  double keepalive = 10;         ///< seconds
};

/// What this agent is called.
std::string NameOf(const JoinOptions& options);

/// An agent beside its input, to the input's end: predictions on standard
/// output or in files, all else on standard error. Throws Error. Use it from one thread.
class JoinSession {
 public:
  /// The options must outlive this.
  explicit JoinSession(const JoinOptions& options);

  /// `broker`: the same, if it is one.
  void Run(std::istream& input, MqttInput* broker = nullptr);

 private:
  void Meet();
  void LearnRanges(SampleFeed& feed);
  void TellRanges(const SampleFeed& feed);
  void Read(SampleFeed& feed);
  void TellNews(const SampleFeed& feed);
  void Resume(SampleFeed& feed);
  SampleColumns Columns() const;
  void MoveOn(SampleFeed& feed);
  void Use(SampleFeed& feed, const FeedSample& sample);
  std::string TimeOf(const FeedSample& sample, std::uint64_t step) const;
  void Put(const FeedSample& sample, const std::optional<AgentPrediction>& prediction);
  ToldPrediction TellPrediction(SampleFeed& feed, const FeedSample& sample,
                                const AgentPrediction& prediction);
  void Learn(const SampleFeed& feed, const FeedSample& sample,
             const std::optional<ToldPrediction>& told);
  void TellOfLearning(bool learnt);
  bool Await(const std::function<bool()>& next);
  void WaitPatiently(const std::function<bool(std::chrono::milliseconds)>& wait);
  void Summarize(const FeedCounts& counts) const;

  const JoinOptions& options_;
  JoinOutput output_;
  Agent agent_;
  bool wait_ = false;        // for a step, with every sample
  bool can_resume_ = false;  // the input is a file that can be read again
  MqttInput* broker_ = nullptr;
  FederationConfiguration federation_;
  Scale scale_;
  std::optional<Forecasts> forecasts_;  // where predictions are made several steps ahead
  ServerNews news_;
  std::uint64_t without_model_ = 0;  // the last line whose prediction was null
  std::uint64_t learnt_ = 0;
  std::uint64_t bad_ = 0;
  BadLines bad_lines_;
  Tally unlearnt_, forgotten_, clipped_, went_back_;
  bool learns_ = true;  // from good labels, as far as it was told
  Service service_;     // last: it looks at the agent
};

}  // namespace polykern
