#include "polykern/net/rounds/published_model.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "polykern/net/configuration_texts.h"

namespace polykern {
namespace {

/// To the bit.
bool SameBlock(std::span<const float> a, std::span<const float> b) {
  return std::ranges::equal(std::as_bytes(a), std::as_bytes(b));
}

}  // namespace

PublishedModel::PublishedModel(const ModelShape& shape, const ConfigurationTexts& configuration,
                               std::uint64_t steps, Broadcast first)
    : shape_(shape),
      steps_(steps),
      published_(std::move(first)),
      changed_at_(shape.blocks, published_.step) {
  Configure(configuration);
}

void PublishedModel::Configure(const ConfigurationTexts& configuration) {
  configuration_ = Canonical(configuration);
}

void PublishedModel::Publish(const Broadcast& next) {
  for (std::size_t b = 0; b < shape_.blocks; ++b) {
    const std::size_t at = b * shape_.width;
    if (!SameBlock(std::span(published_.model).subspan(at, shape_.width),
                   std::span(next.model).subspan(at, shape_.width))) {
      changed_at_[b] = next.step;
    }
  }
  published_ = next;
  changes_.clear();
}

std::optional<Ending> PublishedModel::Refusal(std::uint32_t version) {
  if (version == kProtocolVersion) return {};
  return Ending{Ending::Kind::kVersion, "you speak version " + std::to_string(version) +
                                            " of the protocol, this server speaks " +
                                            std::to_string(kProtocolVersion) +
                                            "; update the older side"};
}

std::string PublishedModel::WelcomeTo(std::uint64_t client, std::uint64_t next_step, bool uses_late,
                                      bool has_ranges, const std::string& helper_key) const {
  std::vector<std::uint32_t> all(shape_.blocks);
  std::iota(all.begin(), all.end(), 0U);
  Welcome welcome{
      kProtocolVersion, client,    configuration_, TakeBlocks(shape_, published_, std::move(all)),
      next_step,        uses_late, has_ranges,     helper_key};
  welcome.model.finished = finished();
  welcome.model.counted = shape_.sums.empty() ? 0 : next_step;
  return Encode(welcome);
}

std::shared_ptr<const std::string> PublishedModel::ChangeSince(std::uint64_t step) {
  auto& message = changes_[step];
  if (message == nullptr) {
    std::vector<std::uint32_t> blocks;
    for (std::size_t b = 0; b < shape_.blocks; ++b) {
      if (changed_at_[b] > step) blocks.push_back(static_cast<std::uint32_t>(b));
    }
    ModelChange change = TakeBlocks(shape_, published_, std::move(blocks));
    change.finished = finished();
    message = std::make_shared<const std::string>(Encode(change));
  }
  return message;
}

}  // namespace polykern
