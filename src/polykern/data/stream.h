#pragma once

#include <array>
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

  /// The sample of a step is known, without its label, this number of steps
  /// less 1 before it: then the label must be predicted.
  virtual std::size_t ahead() const { return 1; }

  /// Samples that a row of the data enters: its own, and as a past label those of later steps.
  virtual std::size_t samples_per_row() const { return 1; }

  /// The site (group) of a client, for reports; sites are numbered from 0.
  virtual std::size_t SiteOf(std::size_t client) const = 0;
  virtual std::span<const std::string> site_names() const = 0;

  /// What a client is called, for reports: its number, counted from 0, unless the data name it.
  virtual std::string ClientName(std::size_t client) const { return std::to_string(client); }
  /// When a step is, for reports: its number, counted from 1, unless the data have times.
  virtual std::string TimeOf(std::size_t step) const { return std::to_string(step + 1); }
  /// A label, or a prediction of one, in the target's own unit.
  virtual double InOwnUnit(double label) const { return label; }

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

/// Numbers in the caller's memory, of either width and at any distance from each other. Nothing is
/// copied; the memory must outlive this and not change.
struct ArrayView {
  const std::byte* data = nullptr;
  bool is_double = false;                   ///< doubles, otherwise floats; aligned
  std::array<std::ptrdiff_t, 3> strides{};  ///< bytes from one to the next: step, client, column

  double At(std::size_t step, std::size_t client, std::size_t column = 0) const;
  /// `count` numbers of one row, as floats.
  void CopyRow(std::size_t step, std::size_t client, std::span<float> row) const;
};

struct ArrayShape {
  std::size_t steps = 0;
  std::size_t clients = 0;
  std::size_t dimension = 0;
  std::size_t ahead = 1;
};

/// What every client sees at every step, from arrays of a program: x steps x clients x dimension,
/// y steps x clients. All clients are at one site. Any number of threads may read it.
class ArrayStream : public Stream {
 public:
  /// present: steps x clients, 0 where a client has no sample; empty: they always have.
  ArrayStream(const ArrayShape& shape, const ArrayView& x, const ArrayView& y,
              std::span<const std::uint8_t> present = {});

  std::size_t clients() const override { return shape_.clients; }
  std::size_t steps() const override { return shape_.steps; }
  std::size_t dimension() const override { return shape_.dimension; }
  std::size_t ahead() const override { return shape_.ahead; }
  std::size_t SiteOf(std::size_t) const override { return 0; }
  std::span<const std::string> site_names() const override { return site_names_; }
  void Read(std::size_t step, std::size_t first, std::size_t count,
            SampleBlock& block) const override;

 private:
  ArrayShape shape_;
  ArrayView x_;
  ArrayView y_;
  std::span<const std::uint8_t> present_;
  std::vector<std::string> site_names_ = {"all"};
};

}  // namespace polykern
