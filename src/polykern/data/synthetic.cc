#include "polykern/data/synthetic.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>

#include "polykern/core/error.h"
#include "polykern/core/random.h"

namespace polykern {
namespace {

constexpr double kOwnShare = 0.85;
constexpr double kCentre = 0.45;         // ||c||
constexpr double kRadius = 0.35;         // of the disk, in x
constexpr double kLargestSpread = 0.19;  // 0.45 + 0.35 + 0.19 < 1
// By kind of law; see the header.
constexpr std::array<double, 4> kRoughness = {1.5, 1.2, 3, 6};
constexpr std::array<double, 4> kSpread = {0.15, 0.12, 0.05, 0.02};
constexpr std::array<double, 4> kLevel = {0.35, 0.65, 0.4, 0.6};
constexpr std::array<const char*, 4> kKinds = {"saturating", "gentle", "rippled", "rough"};

/// Sine from + - * / alone, so that no bit depends on the C library.
double Sine(double x) {
  constexpr double kPi = std::numbers::pi;
  const double half_turns = std::floor(x / kPi + 0.5);
  const double rest = x - half_turns * kPi;  // in [-pi/2, pi/2]: 11 terms reach double precision
  const double square = rest * rest;
  double series = 1;
  for (int k = 20; k >= 2; k -= 2) series = 1 - square / (k * (k + 1)) * series;
  const bool odd = half_turns != 2 * std::floor(half_turns / 2);
  return odd ? -rest * series : rest * series;
}

double Cosine(double x) {
  return Sine(x + std::numbers::pi / 2);
}

void CheckOptions(const FleetOptions& options) {
  const auto require = [](bool good, const std::string& message) {
    if (!good) throw Error("the synthetic fleet " + message);
  };
  require(options.clients >= 1, "needs at least one client; raise " + OptionName("clients"));
  require(options.steps >= 1, "needs at least one step; raise " + OptionName("steps"));
  require(options.sites >= 1, "needs at least one site; raise the number of sites");
  require(options.dimension >= 2, "needs at least two inputs; raise the dimension");
  require(options.noise >= 0 && std::isfinite(options.noise),
          "needs a finite noise of 0 or more; correct " + OptionName("noise"));
  require(std::isfinite(options.drift) && std::abs(options.drift) <= 1e6,
          "needs a drift of at most a million radians; correct " + OptionName("drift"));
}

void SetLength(std::vector<double>& vector, double length) {
  double square = 0;
  for (const double value : vector) square += value * value;
  const double factor = length / std::sqrt(square);
  for (double& value : vector) value *= factor;
}

std::vector<double> RandomDirection(Random& random, std::size_t dimension) {
  std::vector<double> direction(dimension);
  for (double& value : direction) value = random.Normal();
  SetLength(direction, 1);
  return direction;
}

}  // namespace

SyntheticFleet::SyntheticFleet(const FleetOptions& options) : options_(options) {
  CheckOptions(options);
  for (std::size_t s = 0; s < options.sites; ++s) {
    Random random(options.seed, Purpose::kFleet, s);
    const std::size_t kind = s % kKinds.size();
    site_names_.push_back("site " + std::to_string(s + 1) + " (" + kKinds[kind] + ")");
    Site site;
    site.saturating = kind == 0;
    site.level = kLevel[kind];
    site.spread = kSpread[kind] / std::sqrt(static_cast<double>(options.dimension));
    site.centre = RandomDirection(random, options.dimension);
    SetLength(site.centre, kCentre);
    auto& [a, b] = site.axes;
    a = RandomDirection(random, options.dimension);
    b = RandomDirection(random, options.dimension);
    double inner = 0;
    for (std::size_t i = 0; i < a.size(); ++i) inner += a[i] * b[i];
    for (std::size_t i = 0; i < a.size(); ++i) b[i] -= inner * a[i];
    SetLength(b, 1);
    // Two waves, a third to two thirds of a half turn apart, so that both latent axes matter.
    double angle = 2 * std::numbers::pi * random.Uniform();
    for (Wave& wave : site.waves) {
      wave.along_u = kRoughness[kind] * Cosine(angle);
      wave.along_v = kRoughness[kind] * Sine(angle);
      wave.phase = 2 * std::numbers::pi * random.Uniform();
      angle += std::numbers::pi * (1 + random.Uniform()) / 3;
    }
    sites_.push_back(std::move(site));
  }
}

std::size_t SyntheticFleet::SiteOf(std::size_t client) const {
  return client * options_.sites / options_.clients;
}

std::vector<double> SyntheticFleet::SiteNumbers(std::size_t site) const {
  const Site& own = sites_[site];
  std::vector<double> numbers = own.centre;
  for (const auto& axis : own.axes) numbers.insert(numbers.end(), axis.begin(), axis.end());
  numbers.insert(numbers.end(), {own.saturating ? 1.0 : 0.0, own.level, own.spread});
  for (const Wave& wave : own.waves) {
    numbers.insert(numbers.end(), {wave.along_u, wave.along_v, wave.phase});
  }
  return numbers;
}

SyntheticFleet::Turn SyntheticFleet::TurnAt(std::size_t step) const {
  if (options_.drift == 0 || options_.steps < 2) return {};
  const double angle =
      options_.drift * static_cast<double>(step) / static_cast<double>(options_.steps - 1);
  return {Cosine(angle), Sine(angle)};
}

double SyntheticFleet::Label(const Site& site, const Turn& turn, double u, double v) {
  const double turned_u = turn.cosine * u - turn.sine * v;
  const double turned_v = turn.sine * u + turn.cosine * v;
  const auto argument = [&](const Wave& wave) {
    return wave.along_u * turned_u + wave.along_v * turned_v;
  };
  if (site.saturating) {
    const double p = argument(site.waves[0]);
    return site.level + 0.3 * p / std::sqrt(1 + p * p);
  }
  double sum = 0;
  for (const Wave& wave : site.waves) sum += Sine(argument(wave) + wave.phase);
  return site.level + 0.15 * sum;
}

double SyntheticFleet::Law(std::size_t site, double u, double v, std::size_t step) const {
  return Label(sites_[site], TurnAt(step), u, v);
}

void SyntheticFleet::Read(std::size_t step, std::size_t first, std::size_t count,
                          SampleBlock& block) const {
  assert(step < steps() && first + count <= clients());
  const std::size_t d = options_.dimension;
  block.x.resize(count * d);
  block.y.resize(count);
  block.present.assign(count, 1);
  const Turn turn = TurnAt(step);
  for (std::size_t i = 0; i < count; ++i) {
    Random random(options_.seed, Purpose::kSample, first + i, step);
    std::size_t place = SiteOf(first + i);
    if (options_.sites > 1 && random.Uniform() >= kOwnShare) {
      place = (place + 1 + random.Below(options_.sites - 1)) % options_.sites;
    }
    const Site& site = sites_[place];
    double u = 0;
    double v = 0;
    do {
      u = 2 * random.Uniform() - 1;
      v = 2 * random.Uniform() - 1;
    } while (u * u + v * v > 1);
    const double label = Label(site, turn, u, v) + options_.noise * random.Normal();
    block.y[i] = std::clamp(label, 0.0, 1.0);
    const std::span<float> x = std::span(block.x).subspan(i * d, d);
    double square = 0;
    for (float& value : x) {
      const double normal = site.spread * random.Normal();
      square += normal * normal;
      value = static_cast<float>(normal);
    }
    const double shrink = std::min(1.0, kLargestSpread / std::sqrt(square));
    for (std::size_t j = 0; j < d; ++j) {
      const double disk = kRadius * (u * site.axes[0][j] + v * site.axes[1][j]);
      x[j] = static_cast<float>(site.centre[j] + disk + shrink * static_cast<double>(x[j]));
    }
  }
}

}  // namespace polykern
