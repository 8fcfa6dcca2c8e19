#pragma once

// POF-MKL as written down, one client, one kernel, one feature at a time, in double. Shares no code
// with the library.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace slow {

using Vector = std::vector<double>;
using Matrix = std::vector<Vector>;

struct Settings {
  std::size_t per_upload = 1;
  double xi = 1;
  double eta = 0.1;
  double eta_k = 0.1;
  double lambda = 1e-3;
  std::string loss = "squared";
  double delta = 0.1;
  bool anytime = false;  // eta and eta_k are divided by the root of the step 1, 2, ..
};

inline double LossOf(const Settings& s, double f, double y) {
  if (s.loss == "squared") return (f - y) * (f - y);
  if (s.loss == "huber") {
    const double e = std::fabs(f - y);
    return e <= s.delta ? e * e : 2 * s.delta * e - s.delta * s.delta;
  }
  return std::log(1 + std::exp(f)) - y * f;
}

inline double SlopeOf(const Settings& s, double f, double y) {
  if (s.loss == "squared") return 2 * (f - y);
  if (s.loss == "huber") {
    if (std::fabs(f - y) <= s.delta) return 2 * (f - y);
    return f > y ? 2 * s.delta : -2 * s.delta;
  }
  return std::exp(f) / (1 + std::exp(f)) - y;
}

/// A federation: theta of the server, cumulative losses of every client.
class Federation {
 public:
  /// rho[i][j] is frequency j of kernel i.
  Federation(std::vector<Matrix> rho, std::size_t clients, Settings settings)
      : rho_(std::move(rho)),
        s_(std::move(settings)),
        theta_(rho_.size(), Vector(2 * rho_[0].size())),
        losses_(clients, Vector(rho_.size())) {}

  /// One step of the clients that are present; returns their predictions.
  Vector Step(const Matrix& x, const Vector& y, const Vector& uniform,
              const std::vector<std::uint8_t>& present) {
    Vector predictions;
    double clients = 0;  // K
    ++t_;
    const double eta = s_.anytime ? s_.eta / std::sqrt(t_) : s_.eta;
    Matrix change(theta_.size(), Vector(theta_[0].size()));
    for (std::size_t k = 0; k < x.size(); ++k) {
      if (present[k] == 0) continue;
      ++clients;
      Matrix z;
      Vector f;
      for (std::size_t i = 0; i < rho_.size(); ++i) {
        z.push_back(Features(i, x[k]));
        f.push_back(Dot(theta_[i], z[i]));
      }
      const Vector w = WeightsOf(k);
      double prediction = 0;
      for (std::size_t i = 0; i < f.size(); ++i) prediction += w[i] * f[i];  // (9)
      predictions.push_back(prediction);

      double p = 0;
      for (const std::size_t i : Choose(losses_[k], w, uniform[k], p)) {  // (10), (11)
        for (std::size_t j = 0; j < z[i].size(); ++j) {
          change[i][j] +=
              eta / p * (SlopeOf(s_, f[i], y[k]) * z[i][j] + 2 * s_.lambda * theta_[i][j]);
        }
      }
      for (std::size_t i = 0; i < f.size(); ++i) {  // (12)
        losses_[k][i] += LossOf(s_, f[i], y[k]) + s_.lambda * Dot(theta_[i], theta_[i]);
      }
    }
    for (std::size_t i = 0; i < theta_.size(); ++i) {  // (13)
      for (std::size_t j = 0; j < theta_[i].size(); ++j) {
        theta_[i][j] -= change[i][j] / clients;
      }
    }
    return predictions;
  }

  const Matrix& theta() const { return theta_; }
  /// Those of the last step's rate, and of all losses so far.
  Vector WeightsOf(std::size_t client) const {
    const Vector& losses = losses_[client];
    const double eta_k = s_.anytime ? s_.eta_k / std::sqrt(t_) : s_.eta_k;
    const double least = *std::min_element(losses.begin(), losses.end());
    Vector w;
    for (const double loss : losses) w.push_back(std::exp(-eta_k * (loss - least)));
    const double sum = std::accumulate(w.begin(), w.end(), 0.0);
    for (double& value : w) value /= sum;
    return w;
  }

 private:
  static double Dot(const Vector& a, const Vector& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  }

  Vector Features(std::size_t kernel, const Vector& x) const {  // (6)
    Vector sines;
    Vector cosines;
    const Matrix& rho = rho_[kernel];
    for (const Vector& frequency : rho) {
      const double angle = Dot(frequency, x);
      sines.push_back(std::sin(angle) / std::sqrt(static_cast<double>(rho.size())));
      cosines.push_back(std::cos(angle) / std::sqrt(static_cast<double>(rho.size())));
    }
    sines.insert(sines.end(), cosines.begin(), cosines.end());
    return sines;
  }

  /// Algorithm 1: the kernels of the drawn bin; p becomes its probability.
  std::vector<std::size_t> Choose(const Vector& losses, const Vector& w, double uniform,
                                  double& p) const {
    std::vector<std::size_t> order(w.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (s_.xi < 1) {
      std::stable_sort(order.begin(), order.end(),
                       [&](std::size_t a, std::size_t b) { return losses[a] < losses[b]; });
    }
    std::vector<std::vector<std::size_t>> bins;
    for (const std::size_t kernel : order) {
      if (bins.empty() || bins.back().size() == s_.per_upload) bins.emplace_back();
      bins.back().push_back(kernel);
    }
    double cumulative = 0;
    for (const auto& bin : bins) {
      double u = 0;
      for (const std::size_t kernel : bin) u += w[kernel];
      p = (1 - s_.xi) * u + s_.xi / static_cast<double>(bins.size());
      cumulative += p;
      if (cumulative > uniform) return bin;
    }
    return bins.back();
  }

  std::vector<Matrix> rho_;
  Settings s_;
  Matrix theta_;
  Matrix losses_;
  double t_ = 0;
};

}  // namespace slow
