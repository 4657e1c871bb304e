/** Draws plots without a browser. */
import { init } from "echarts";
import { WIDTH } from "./plot-options.mjs";

/** The SVG of an option from plot-options.mjs. */
export function drawn({ height, ...option }) {
  const chart = init(null, null, { renderer: "svg", ssr: true, width: WIDTH, height });
  try {
    chart.setOption(option);
    return `${chart.renderToSVGString()}\n`;
  } finally {
    chart.dispose();
  }
}
