#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace polykern {

/// The samples of a run of neighbouring clients at one step. Reused from step to step.
struct SampleBlock {
  std::vector<float> x;               ///< clients x dimension, client after client
  std::vector<double> y;              ///< one label per client
  std::vector<std::uint8_t> present;  ///< 1 where the client has a sample at this step
};

/// What every client sees at every step. Immutable once made: any number of threads may read it.
class Stream {
 public:
  virtual ~Stream() = default;

  virtual std::size_t clients() const = 0;
  virtual std::size_t steps() const = 0;
  virtual std::size_t dimension() const = 0;

  /// The site (group) of a client, for reports; sites are numbered from 0.
  virtual std::size_t SiteOf(std::size_t client) const = 0;
  virtual std::span<const std::string> site_names() const = 0;

  /// Writes the samples of clients first .. first+count-1 at `step` into `block`, resizing it.
  /// x and y of an absent client are 0. The same arguments always give the same bits.
  virtual void Read(std::size_t step, std::size_t first, std::size_t count,
                    SampleBlock& block) const = 0;

  /// The same stream, of which only the samples of clients first .. first+count-1 can be read, if
  /// that takes less room; null if there is nothing to save.
  virtual std::unique_ptr<const Stream> Only(std::size_t /*first*/, std::size_t /*count*/) const {
    return nullptr;
  }
};

}  // namespace polykern
