#include "polykern/data/stream.h"

#include <algorithm>
#include <cassert>

namespace polykern {
namespace {

template <typename Number>
Number Load(const std::byte* at) {
  return *reinterpret_cast<const Number*>(at);
}

template <typename Number>
void Copy(const std::byte* from, std::ptrdiff_t stride, std::span<float> row) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    row[i] = static_cast<float>(Load<Number>(from + static_cast<std::ptrdiff_t>(i) * stride));
  }
}

const std::byte* Start(const ArrayView& view, std::size_t step, std::size_t client) {
  return view.data + static_cast<std::ptrdiff_t>(step) * view.strides[0] +
         static_cast<std::ptrdiff_t>(client) * view.strides[1];
}

}  // namespace

double ArrayView::At(std::size_t step, std::size_t client, std::size_t column) const {
  const std::byte* const at =
      Start(*this, step, client) + static_cast<std::ptrdiff_t>(column) * strides[2];
  return is_double ? Load<double>(at) : static_cast<double>(Load<float>(at));
}

void ArrayView::CopyRow(std::size_t step, std::size_t client, std::span<float> row) const {
  const std::byte* const from = Start(*this, step, client);
  if (is_double) {
    Copy<double>(from, strides[2], row);
  } else {
    Copy<float>(from, strides[2], row);
  }
}

ArrayStream::ArrayStream(const ArrayShape& shape, const ArrayView& x, const ArrayView& y,
                         std::span<const std::uint8_t> present)
    : shape_(shape), x_(x), y_(y), present_(present) {
  assert(present.empty() || present.size() == shape.steps * shape.clients);
}

void ArrayStream::Read(std::size_t step, std::size_t first, std::size_t count,
                       SampleBlock& block) const {
  assert(step < steps() && first + count <= clients());
  const std::size_t d = dimension();
  block.x.resize(count * d);
  block.y.resize(count);
  block.present.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t client = first + i;
    const auto row = std::span(block.x).subspan(i * d, d);
    const bool there = present_.empty() || present_[step * clients() + client] != 0;
    block.present[i] = there ? 1 : 0;
    if (there) {
      x_.CopyRow(step, client, row);
      block.y[i] = y_.At(step, client);
    } else {
      std::ranges::fill(row, 0.0F);
      block.y[i] = 0;
    }
  }
}

}  // namespace polykern
