// Charts draws the sections with data-chart by the library uPlot, from the numbers of their tables. Without this script the tables show.
const themes = matchMedia('(prefers-color-scheme: dark)')
const charts = new Map() // by section

const token = (name) => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim()
const colorOf = (series) => series.before ? token('quiet') : token('chart-' + series.color)

// read returns the numbers of a section's table.
function read(section) {
  const series = [...section.querySelectorAll('thead th[data-color]')].map((th) => ({
    label: th.textContent, color: th.dataset.color, before: 'before' in th.dataset,
  }))
  const rows = [...section.querySelectorAll('tbody tr[data-at]')]
  const columns = series.map((_, i) => rows.map((row) => {
    const value = row.querySelectorAll('td')[i].dataset.value
    return value === '' ? null : Number(value)
  }))
  const texts = rows.map((row) => [...row.children].map((cell) => cell.textContent))
  return { series, texts, at: rows.map((row) => Number(row.dataset.at)), columns }
}

// write returns the words for a number of an axis.
function writer(unit) {
  if (unit === '%') return (n) => Number(n.toFixed(2)) + ' %'
  if (unit === 'ms') return (n) => n >= 1000 ? n / 1000 + ' s' : n + ' ms'
  const money = /^[A-Z]{3}$/.test(unit)
  const format = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1, ...(money ? { style: 'currency', currency: unit } : {}) })
  return (n) => Number.isInteger(n) || money ? format.format(n) : ''
}

// stack adds up the columns from the first one on, but those of the period before.
function stack(series, columns) {
  let below = null
  return columns.map((column, i) => {
    if (series[i].before) return column
    below = column.map((n, at) => (n || 0) + (below ? below[at] : 0))
    return below
  })
}

// moments returns the writer of an axis of time: hours, or days.
function moments(hourly) {
  const format = new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', ...(hourly ? { hour: '2-digit', minute: '2-digit' } : { day: 'numeric', month: 'short' }) })
  return (_, all) => all.map((seconds) => format.format(new Date(seconds * 1000)))
}

const hour = 3600
const day = 24 * hour

function axes(unit, step, width) {
  const time = step > 1
  const write = writer(unit)
  const line = { stroke: token('quiet'), font: '12px ' + token('sans'), ticks: { stroke: token('line'), width: 1 } }
  return [
    { ...line, grid: { show: false }, space: width < 480 ? 56 : 72, ...(time
      ? { values: moments(step < day), incrs: step < day ? [hour, 2 * hour, 3 * hour, 4 * hour, 6 * hour, 12 * hour] : [1, 2, 3, 5, 7, 10, 14, 21, 30, 60, 90].map((n) => n * day) }
      : { values: (_, all) => all.map((n) => String(n).padStart(2, '0') + ':00'), incrs: [1, 2, 3, 4, 6] }) },
    {
      ...line, grid: { stroke: token('line'), width: 1 }, ticks: { show: false }, values: (_, all) => all.map(write), space: 36,
      size: (u, values) => values ? Math.max(...values.map((v) => v.length)) * 7 + 16 : 40,
    },
  ]
}

// tooltip shows the numbers of the row under the cursor, as the table writes them.
function tooltip(data) {
  let box
  return {
    hooks: {
      init: (u) => {
        box = document.createElement('div')
        box.className = 'tooltip'
        box.hidden = true
        u.over.append(box)
        u.over.addEventListener('mouseleave', () => { box.hidden = true })
      },
      setCursor: (u) => {
        const i = u.cursor.idx
        if (i == null || u.cursor.left < 0) { box.hidden = true; return }
        const head = document.createElement('strong')
        head.textContent = data.texts[i][0]
        const list = document.createElement('ul')
        data.series.forEach((series, n) => {
          if (data.columns[n][i] === null || (!series.before && data.columns[n][i] === 0 && data.series.length > 4)) return
          const item = document.createElement('li')
          const mark = document.createElement('span')
          mark.className = 'swatch c' + series.color + (series.before ? ' before' : '')
          const value = document.createElement('b')
          value.textContent = data.texts[i][n + 1]
          item.append(mark, series.label + ' ', value)
          list.append(item)
        })
        box.replaceChildren(head, list)
        box.hidden = false
        const left = u.valToPos(data.at[i], 'x')
        const room = u.over.clientWidth - box.offsetWidth
        box.style.left = Math.max(0, Math.min(room, left + 12 + box.offsetWidth > u.over.clientWidth ? left - box.offsetWidth - 12 : left + 12)) + 'px'
      },
    },
  }
}

// alone returns the places of the values without a neighbour, which no line shows.
function alone(u, series) {
  const column = u.data[series]
  return [...column.keys()].filter((i) => column[i] != null && column[i - 1] == null && column[i + 1] == null)
}

function options(section, data, width) {
  const stacked = section.dataset.chart === 'stacked'
  const step = data.at.length > 1 ? data.at[1] - data.at[0] : day
  const time = step > 1
  const edge = stacked ? step / 2 : 0
  const bars = window.uPlot.paths.bars({ size: [0.72, 48], radius: 0 })
  const series = data.series.map((s) => {
    const color = colorOf(s)
    if (stacked && !s.before) return { label: s.label, fill: color, stroke: color, width: 0, paths: bars, points: { show: false } }
    return {
      label: s.label, stroke: color, width: s.before ? 1.5 : 2, dash: s.before ? [4, 4] : undefined, spanGaps: !stacked,
      points: { show: !s.before, size: 6, fill: color, stroke: color, filter: alone },
    }
  })
  return {
    width, height: 240, legend: { show: false }, padding: [12, 12, 0, 0],
    tzDate: (seconds) => window.uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
    cursor: { y: false, drag: { x: false, y: false }, points: { show: !stacked, size: 7 } },
    scales: {
      x: { time, range: (_, min, max) => [min - edge, max + edge] },
      y: { range: (_, min, max) => section.dataset.unit === '%' && max > 20 ? [Math.max(0, Math.min(90, Math.floor((min - 5) / 10) * 10)), 100] : [0, max > 0 ? max * 1.08 : 1] },
    },
    axes: axes(section.dataset.unit, step, width),
    series: [{}, ...series.slice().reverse()], // of a stack, the highest is drawn first
    plugins: [tooltip(data)],
  }
}

function draw(section) {
  const canvas = section.querySelector('[data-canvas]')
  if (!canvas) return
  charts.get(section)?.plot.destroy()
  canvas.hidden = false
  section.querySelector('[data-legend]').hidden = false
  const data = read(section)
  const columns = section.dataset.chart === 'stacked' ? stack(data.series, data.columns) : data.columns
  const plot = new window.uPlot(options(section, data, canvas.clientWidth), [data.at, ...columns.slice().reverse()], canvas)
  charts.set(section, { plot, width: canvas.clientWidth })
}

const sizes = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const section = target.closest('[data-chart]')
    const width = target.clientWidth
    if (width > 0 && charts.get(section)?.width !== width) draw(section)
  }
})

function drawAll(first) {
  for (const section of charts.keys()) if (!section.isConnected) { charts.get(section).plot.destroy(); charts.delete(section) }
  for (const section of document.querySelectorAll('[data-chart]')) {
    if (charts.has(section) || !section.querySelector('[data-canvas]')) continue
    draw(section)
    if (first) section.querySelector('[data-numbers]').open = false
    sizes.observe(section.querySelector('[data-canvas]'))
  }
}

themes.addEventListener('change', () => { for (const section of charts.keys()) draw(section) })
document.addEventListener('dashboard:shown', () => drawAll(false)) // another content was put into the page
drawAll(true)
