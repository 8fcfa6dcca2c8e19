#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "polykern/data/dataset.h"
#include "polykern/data/stream.h"

namespace polykern {

/// A data set dealt to clients. Shares the data set, because one large set serves many streams
/// (seeds, splits) at once. Immutable: any number of threads may read it.
class TableStream : public Stream {
 public:
  static constexpr std::uint32_t kAbsent = UINT32_MAX;

  /// `index`: steps x clients rows of `data`, kAbsent where a client has no sample; `site_of`: a
  /// place in `site_names` for each client. Users call Deal.
  TableStream(std::shared_ptr<const Dataset> data, std::vector<std::uint32_t> index,
              std::vector<std::uint32_t> site_of, std::vector<std::string> site_names);

  std::size_t clients() const override { return site_of_.size(); }
  std::size_t steps() const override { return steps_; }
  std::size_t dimension() const override { return data_->dimension; }
  std::size_t ahead() const override { return data_->ahead; }
  std::size_t samples_per_row() const override { return 1 + data_->lags; }
  std::size_t SiteOf(std::size_t client) const override { return site_of_[client]; }
  std::span<const std::string> site_names() const override { return site_names_; }
  std::string ClientName(std::size_t client) const override;
  std::string TimeOf(std::size_t step) const override;
  double InOwnUnit(double label) const override { return data_->scale.UnscaleLabel(label); }
  void Read(std::size_t step, std::size_t first, std::size_t count,
            SampleBlock& block) const override;
  std::unique_ptr<const Stream> Only(std::size_t first, std::size_t count) const override;

  /// What clients are called. Deal calls it where rows are those of named clients.
  void SetClientNames(std::vector<std::string> names) { client_names_ = std::move(names); }

  /// The moment of every step. Deal calls it where rows have times.
  void SetTimes(std::vector<Seconds> times) { times_ = std::move(times); }
  /// The moments of the steps; empty if rows have no times.
  std::span<const Seconds> times() const { return times_; }

  /// The row of the data set that a client sees at a step, or kAbsent.
  std::uint32_t RowOf(std::size_t step, std::size_t client) const {
    return index_[step * count_ + client - first_];
  }
  const Dataset& data() const { return *data_; }

 private:
  std::shared_ptr<const Dataset> data_;
  std::vector<std::uint32_t> index_;
  std::size_t first_ = 0;  // of the clients that can be read
  std::size_t count_;
  std::size_t steps_;
  std::vector<std::uint32_t> site_of_;
  std::vector<std::string> site_names_;
  std::vector<std::string> client_names_;
  std::vector<Seconds> times_;
};

}  // namespace polykern
