#include "polykern/data/table_stream.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace polykern {

TableStream::TableStream(std::shared_ptr<const Dataset> data, std::vector<std::uint32_t> index,
                         std::vector<std::uint32_t> site_of, std::vector<std::string> site_names)
    : data_(std::move(data)),
      index_(std::move(index)),
      count_(site_of.size()),
      steps_(index_.size() / count_),
      site_of_(std::move(site_of)),
      site_names_(std::move(site_names)) {
  assert(!site_of_.empty() && index_.size() % site_of_.size() == 0);
}

void TableStream::Read(std::size_t step, std::size_t first, std::size_t count,
                       SampleBlock& block) const {
  assert(step < steps() && first >= first_ && first + count <= first_ + count_);
  const std::size_t d = dimension();
  block.x.resize(count * d);
  block.y.resize(count);
  block.present.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t row = RowOf(step, first + i);
    float* const x = block.x.data() + i * d;
    block.present[i] = row != kAbsent ? 1 : 0;
    if (row == kAbsent) {
      std::fill_n(x, d, 0.0F);
      block.y[i] = 0;
    } else {
      // By pointers: g++ 12 copies numbers one at a time between other iterators at -O2.
      std::copy_n(data_->Row(row).data(), d, x);
      block.y[i] = data_->y[row];
    }
  }
}

std::string TableStream::ClientName(std::size_t client) const {
  return client_names_.empty() ? Stream::ClientName(client) : client_names_[client];
}

std::string TableStream::TimeOf(std::size_t step) const {
  return times_.empty() ? Stream::TimeOf(step) : TimeText(times_[step]);
}

std::unique_ptr<const Stream> TableStream::Only(std::size_t first, std::size_t count) const {
  assert(first + count <= clients());
  if (count == clients()) return nullptr;
  auto rows = std::make_shared<Dataset>();
  rows->dimension = data_->dimension;
  rows->scale = data_->scale;
  rows->ahead = data_->ahead;
  rows->lags = data_->lags;
  std::vector<std::uint32_t> index;
  for (std::size_t step = 0; step < steps_; ++step) {
    for (std::size_t client = first; client < first + count; ++client) {
      const std::uint32_t row = RowOf(step, client);
      index.push_back(row == kAbsent ? kAbsent : static_cast<std::uint32_t>(rows->rows()));
      if (row == kAbsent) continue;
      const auto x = data_->Row(row);
      rows->x.insert(rows->x.end(), x.begin(), x.end());
      rows->y.push_back(data_->y[row]);
    }
  }
  auto only = std::make_unique<TableStream>(*this);
  only->data_ = std::move(rows);
  only->index_ = std::move(index);
  only->first_ = first;
  only->count_ = count;
  return only;
}

}  // namespace polykern
