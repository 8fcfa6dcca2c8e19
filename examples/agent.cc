// A client of a real federation inside a program of your own, without files: two made-up inputs and
// their product. Server: polykern serve --dimension 2 --target-range 0:1; then: example_agent
// HOST:PORT CERTIFICATES
#include "polykern/net/agent/agent.h"

#include <chrono>
#include <cmath>
#include <iostream>
#include <vector>

#include "polykern/core/error.h"

int main(int argc, char** argv) try {
  if (argc != 3) throw polykern::Error("usage: example_agent HOST:PORT CERTIFICATES");
  polykern::Agent agent(
      {.link = {.server = argv[1], .certificates = argv[2]}, .state = "example_agent.state"});
  double squared_error = 0;
  for (int t = 0; t < 200; ++t) {
    while (!agent.WaitForStep(std::chrono::seconds(1))) {
      std::cerr << "waiting: " << agent.status().trouble << '\n';
    }
    const std::vector<float> x = {static_cast<float>(std::sin(1 + 0.37 * t)),
                                  static_cast<float>(std::cos(0.61 * t))};
    const double y = 0.5 + 0.5 * static_cast<double>(x[0] * x[1]);  // known a little later
    squared_error = std::pow(agent.Predict(x).value - y, 2);
    if (t == 0) std::cout << "squared error at the first step " << squared_error << ", ";
    agent.Learn(y);
  }
  agent.WaitUntilCounted(std::chrono::seconds(10));
  std::cout << "at the last " << squared_error << '\n';
  return 0;
} catch (const polykern::Error& error) {
  std::cerr << "example_agent: " << error.what() << '\n';
  return 1;
}
