#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "polykern/net/rounds/links.h"
#include "polykern/net/wire.h"

namespace polykern {

/// The model that is on the disk, which clients may have, and the messages that tell them of it.
/// One thread at a time.
class PublishedModel {
 public:
  /// `steps`: the federation ends after so many; 0: never.
  PublishedModel(const ModelShape& shape, const ConfigurationTexts& configuration,
                 std::uint64_t steps, Broadcast first);

  std::uint64_t step() const { return published_.step; }
  std::uint64_t releases() const { return published_.releases; }
  bool finished() const { return steps_ > 0 && published_.step >= steps_; }

  /// What the federation is, told with every welcome.
  void Configure(const ConfigurationTexts& configuration);
  /// A later model takes its place.
  void Publish(const Broadcast& next);

  /// Why a client of this version of the protocol cannot take part.
  static std::optional<Ending> Refusal(std::uint32_t version);

  /// All of the model. `next_step`: after the last one of the client's that is on the disk;
  /// `has_ranges` and `helper_key`: as in Welcome.
  std::string WelcomeTo(std::uint64_t client, std::uint64_t next_step, bool uses_late,
                        bool has_ranges = false, const std::string& helper_key = {}) const;
  /// What a client does not have whose model is that of an earlier step; encoded once for all.
  std::shared_ptr<const std::string> ChangeSince(std::uint64_t step);

 private:
  const ModelShape shape_;
  ConfigurationTexts configuration_;
  const std::uint64_t steps_;
  Broadcast published_;
  std::vector<std::uint64_t> changed_at_;  // per block: the step whose model changed it
  std::map<std::uint64_t, std::shared_ptr<const std::string>> changes_;  // by step
};

}  // namespace polykern
