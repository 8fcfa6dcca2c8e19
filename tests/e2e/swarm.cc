// Many agents in one process, each with the certificate pki/clients/station-K and the samples K.csv
// of polykern_fleet, in a federation's folder.
//
//   polykern_swarm steps DIR ADDRESS CLIENTS PACE  every agent goes through its samples, one each
//   PACE
//                          milliseconds; predictions go to K.out as `polykern join` writes them,
//                          and how long every answer waited for the next model to latency.txt
//   polykern_swarm churn DIR ADDRESS CLIENTS SECONDS  agents come, answer some steps, leave and
//   come
//                          back until the time is over

#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "polykern/core/error.h"
#include "polykern/core/random.h"
#include "polykern/net/agent/agent.h"

namespace {

using namespace polykern;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

struct Sample {
  std::vector<float> x;
  double y = 0;
};

std::vector<Sample> ReadSamples(const std::string& path) {
  std::ifstream file(path);
  std::vector<Sample> samples;
  std::string line;
  std::getline(file, line);  // names
  while (std::getline(file, line)) {
    std::vector<double> numbers;
    for (const char *at = line.data(), *const end = at + line.size(); at < end;) {
      at = std::from_chars(at, end, numbers.emplace_back()).ptr + 1;
    }
    samples.push_back({{numbers.begin(), numbers.end() - 1}, numbers.back()});
  }
  if (samples.empty()) throw Error(path + ": no samples");
  return samples;
}

std::string Exactly(double value) {
  std::array<char, 32> digits{};
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr};
}

class Swarm {
 public:
  explicit Swarm(const std::vector<std::string>& arguments)
      : folder_(arguments.at(1)),
        address_(arguments.at(2)),
        clients_(std::stoul(arguments.at(3))),
        number_(std::stoul(arguments.at(4))) {
    const bool churn = arguments.at(0) == "churn";
    const auto end = Clock::now() + std::chrono::seconds(number_);
    std::vector<std::jthread> threads;
    for (std::size_t k = 0; k < clients_; ++k) {
      threads.emplace_back([this, k, churn, end] {
        try {
          if (churn) {
            Churn(k, end);
          } else {
            GoThroughSamples(k);
          }
        } catch (const std::exception& error) {
          std::cerr << "polykern_swarm: station-" << k << ": " << error.what() << std::endl;
          std::quick_exit(EXIT_FAILURE);
        }
      });
    }
    threads.clear();  // waits for all
    if (churn) return;
    std::ofstream file(folder_ + "/latency.txt");
    for (const auto& [step, seconds] : latencies_) file << step << ' ' << seconds << '\n';
  }
  std::uint64_t visits() const { return visits_; }
  std::uint64_t learnt() const { return learnt_; }

 private:
  AgentOptions OptionsOf(std::size_t k) const {
    AgentOptions options;
    options.link.server = address_;
    options.link.certificates = folder_ + "/pki/clients/station-" + std::to_string(k);
    return options;
  }

  void GoThroughSamples(std::size_t k) {
    const auto samples = ReadSamples(folder_ + "/" + std::to_string(k) + ".csv");
    std::ofstream out(folder_ + "/" + std::to_string(k) + ".out");
    Agent agent(OptionsOf(k));
    std::vector<std::pair<std::uint64_t, double>> latencies;
    auto next = Clock::now();
    std::uint64_t line = 1;
    for (const Sample& sample : samples) {
      std::this_thread::sleep_until(next);
      next = std::max(next + milliseconds(number_), Clock::now());
      if (!agent.WaitForStep(std::chrono::seconds(60))) throw Error("no step for a minute");
      const AgentPrediction prediction = agent.Predict(sample.x);
      out << "{\"id\":" << ++line << ",\"prediction\":" << Exactly(prediction.value)
          << ",\"step\":" << prediction.step << "}\n";
      const auto answered = Clock::now();
      if (!agent.Learn(sample.y)) throw Error("a step is over that was not answered");
      if (!agent.WaitUntilCounted(std::chrono::seconds(60))) throw Error("not counted in a minute");
      const std::chrono::duration<double> took = Clock::now() - answered;
      latencies.emplace_back(prediction.step, took.count());
      if (k == 0) std::cout << prediction.step << std::endl;
    }
    const std::lock_guard lock(mutex_);
    latencies_.insert(latencies_.end(), latencies.begin(), latencies.end());
  }

  void Churn(std::size_t k, Clock::time_point end) {
    const auto samples = ReadSamples(folder_ + "/" + std::to_string(k) + ".csv");
    Random random(7, Purpose::kTest, k);
    while (Clock::now() < end) {
      std::uint64_t learnt = 0;
      {
        Agent agent(OptionsOf(k));
        const std::uint64_t wanted = random.Below(30);
        for (std::uint64_t n = 0; n < wanted && Clock::now() < end; ++n) {
          if (!agent.WaitForStep(std::chrono::seconds(1))) continue;
          const Sample& sample = samples[random.Below(samples.size())];
          agent.Predict(sample.x);
          learnt += agent.Learn(sample.y) ? 1 : 0;
        }
      }
      std::this_thread::sleep_for(milliseconds(random.Below(300)));
      const std::lock_guard lock(mutex_);
      ++visits_;
      learnt_ += learnt;
    }
  }

  const std::string folder_;
  const std::string address_;
  const std::size_t clients_;
  const std::size_t number_;  // milliseconds, or seconds
  std::mutex mutex_;
  std::vector<std::pair<std::uint64_t, double>> latencies_;
  std::uint64_t visits_ = 0;
  std::uint64_t learnt_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  try {
    const Swarm swarm({argv + 1, argv + argc});
    std::cout << swarm.visits() << " visits, " << swarm.learnt() << " updates" << std::endl;
    return EXIT_SUCCESS;
  } catch (const std::exception& error) {
    std::cerr << "polykern_swarm: " << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
