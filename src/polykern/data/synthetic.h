#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "polykern/data/stream.h"

namespace polykern {

struct FleetOptions {
  std::size_t clients = 40;  ///< spread evenly over the sites, neighbours at the same one
  std::size_t steps = 500;   ///< samples of each client
  std::size_t sites =
      4;  ///< groups of clients with a law of their own; some have none if clients are fewer
  std::size_t dimension = 8;  ///< inputs per sample, at least 2
  double noise = 0.05;        ///< standard deviation of the label noise; labels lie in [0, 1]
  double drift = 0;           ///< radians by which every law turns from the first to the last step
  std::uint64_t seed = 0;     ///< of the laws and of the samples
};

/// A fleet of clients at several sites, generated on the fly: nothing is stored per client or step.
///
/// The law. Site s has a centre c (||c|| = 0.45, random direction), two orthonormal axes a, b and
/// a label law g. A sample of it has a latent point (u, v), uniform on the unit disk, and
///     x = c + 0.35 (u a + v b) + e,   e normal, isotropic, ||e|| about r and at most 0.19,
///     y = clip(g(u, v) + noise * normal, 0, 1),
/// so ||x|| < 1. Four kinds of g, each with its level and its r, follow each other from site to
/// site. (u', v') is (u, v) turned by drift * step / (steps - 1).
///  - saturating, r = 0.15: g = 0.35 + 0.3 p / sqrt(1 + p^2), p = 1.5 (u', v') . direction
///  - gentle, r = 0.12: g = 0.65 + 0.15 (sin p + sin q), p, q = 1.2 (u', v') . direction + phase
///  - rippled, r = 0.05: the same with level 0.4 and 3 instead of 1.2
///  - rough, r = 0.02: the same with level 0.6 and 6 instead of 1.2
///
/// Smooth sites are blurred, which long kernels average out and short ones do not; rough sites are
/// sharp. So the best squared length-scale of a Gaussian kernel falls from about 0.2 at the first
/// two sites over 0.05 to 0.02 at the fourth, and personal weights matter.
/// Client k belongs to site k * sites / clients and draws 85 % of its samples there, the rest from
/// the other sites alike.
///
/// Immutable: any number of threads may read it. Only + - * / and sqrt are used, so every IEEE
/// machine gives the same bits.
class SyntheticFleet : public Stream {
 public:
  /// Throws Error for options that make no sense, and names the option.
  explicit SyntheticFleet(const FleetOptions& options);

  std::size_t clients() const override { return options_.clients; }
  std::size_t steps() const override { return options_.steps; }
  std::size_t dimension() const override { return options_.dimension; }
  std::size_t SiteOf(std::size_t client) const override;
  std::span<const std::string> site_names() const override { return site_names_; }
  void Read(std::size_t step, std::size_t first, std::size_t count,
            SampleBlock& block) const override;

  /// The label law of a site without noise at a latent point and a step, before clipping.
  double Law(std::size_t site, double u, double v, std::size_t step) const;
  const FleetOptions& options() const { return options_; }

  /// A site as numbers, for makers of samples elsewhere: centre and both axes, then 1 if it is
  /// saturating, level, spread, and along u, along v and phase of both waves.
  std::vector<double> SiteNumbers(std::size_t site) const;
  /// A point turned by the drift at one step.
  struct Turn {
    double cosine = 1;
    double sine = 0;
  };
  Turn TurnAt(std::size_t step) const;

 private:
  struct Wave {
    double along_u = 0;
    double along_v = 0;
    double phase = 0;
  };
  struct Site {
    std::vector<double> centre;
    std::array<std::vector<double>, 2> axes;
    bool saturating = false;
    double level = 0;   ///< of the labels
    double spread = 0;  ///< of e, in each direction
    std::array<Wave, 2> waves;
  };
  static double Label(const Site& site, const Turn& turn, double u, double v);

  FleetOptions options_;
  std::vector<Site> sites_;
  std::vector<std::string> site_names_;
};

}  // namespace polykern
