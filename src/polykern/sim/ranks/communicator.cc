#include "polykern/sim/ranks/communicator.h"

#include <cstdlib>

namespace polykern {
namespace {

class Alone final : public Communicator {
 public:
  std::size_t rank() const override { return 0; }
  std::size_t size() const override { return 1; }
  std::size_t local_size() const override { return 1; }
  std::size_t local_rank() const override { return 0; }
  void Sum(std::span<std::int64_t>) override {}
  void Exchange(std::span<const Words> to, std::vector<Words>& from) override {
    from.assign(to.begin(), to.end());
  }
  void AllGather(const Words& own, std::vector<Words>& all) override { all.assign(1, own); }
  std::vector<double> Gather(std::span<const double> numbers) override {
    return {numbers.begin(), numbers.end()};
  }
  std::vector<std::string> Gather(const std::string& text) override { return {text}; }
  void Broadcast(std::string&) override {}
  std::unique_ptr<Communicator> Split(std::size_t) override { return RunAlone(); }
  bool PartTogether() override { return true; }
  void Abort() override { std::_Exit(1); }
};

}  // namespace

std::unique_ptr<Communicator> RunAlone() {
  return std::make_unique<Alone>();
}

ClientRange OwnClients(std::size_t clients, std::size_t rank, std::size_t ranks) {
  const std::size_t first = clients * rank / ranks;
  return {first, clients * (rank + 1) / ranks - first};
}

ClientRange OwnClients(std::size_t clients, const Communicator& ranks) {
  return OwnClients(clients, ranks.rank(), ranks.size());
}

}  // namespace polykern
