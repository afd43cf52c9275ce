// Classes with the names of Iceberg's, which tamis compares.

package org.apache.iceberg {
  class BaseTable
}

package org.apache.iceberg.rest {
  class RESTTable extends org.apache.iceberg.BaseTable
}

package org.apache.iceberg.spark.source {

  import java.util
  import org.apache.spark.sql.connector.catalog.{Table, TableCapability}

  class SparkTable(inner: AnyRef) extends Table {
    def table(): AnyRef = inner
    override def name(): String = "t"
    override def capabilities(): util.Set[TableCapability] = util.Set.of()
  }
}
